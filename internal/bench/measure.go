package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"time"
)

// plan is what to measure.
type plan struct {
	server     string // the program that is started as server, with the argument serve
	contenders []contender
	works      []work
	only       *regexp.Regexp
	rounds     int
	progress   io.Writer
}

// contenders are the clients in the order of the report; the first is the floor.
func contenders() []contender {
	return []contender{
		{name: floorName, dial: dialFloor},
		{name: goSDKName, dial: dialGoSDK},
		{name: mcpGoName, dial: dialMCPGo},
		{name: clientName, dial: dialClient},
		{name: hostName, dial: dialHost, dialMany: dialHostOfMany},
	}
}

// The contenders' names.
const (
	floorName  = "floor"
	goSDKName  = "go-sdk"
	mcpGoName  = "mcp-go"
	clientName = "usher/client"
	hostName   = "usher.Host"
)

// measurement is everything that one run found.
type measurement struct {
	Time       time.Time `json:"time"`
	Go         string    `json:"go"`
	Cores      int       `json:"cores"`
	Rounds     int       `json:"rounds"`
	Contenders []string  `json:"contenders"`
	Works      []series  `json:"works"`
	Daemon     []series  `json:"daemon,omitempty"`
}

// series is one work's values.
type series struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Values has the value of each round by contender.
	Values map[string][]float64 `json:"values"`
}

// measureTimeout bounds one measurement of one contender.
const measureTimeout = 2 * time.Minute

// measure runs the rounds. Within a round each work goes through all contenders before the next work, each time
// beginning with another one, so that what disturbs the machine disturbs them alike.
func measure(ctx context.Context, p plan) (m measurement, err error) {
	m = measurement{Time: time.Now().UTC(), Go: runtime.Version(), Cores: runtime.NumCPU(), Rounds: p.rounds}
	for _, c := range p.contenders {
		m.Contenders = append(m.Contenders, c.name)
	}
	var selected []work
	for _, w := range p.works {
		if p.only.MatchString(w.name) {
			selected = append(selected, w)
			m.Works = append(m.Works, series{Name: w.name, Unit: w.unit, Values: map[string][]float64{}})
		}
	}
	if len(selected) == 0 {
		return m, nil
	}
	for round := range p.rounds {
		fmt.Fprintf(p.progress, "round %d of %d", round+1, p.rounds)
		if err := p.round(ctx, selected, m.Works, round); err != nil {
			return m, err
		}
		fmt.Fprintln(p.progress)
	}
	return m, nil
}

func (p plan) round(ctx context.Context, works []work, results []series, round int) (err error) {
	sessions := make([]session, len(p.contenders))
	defer func() {
		for _, s := range sessions {
			if s != nil {
				err = errors.Join(err, s.close())
			}
		}
	}()
	for i, c := range p.contenders {
		if sessions[i], err = c.dial(ctx, p.server, []string{"serve"}); err != nil {
			return fmt.Errorf("%s: connect: %w", c.name, err)
		}
	}
	for i, w := range works {
		fmt.Fprint(p.progress, ".")
		for turn := range p.contenders {
			at := (turn + round) % len(p.contenders)
			c := p.contenders[at]
			runtime.GC() // one contender's garbage is not the next one's time
			value, err := p.once(ctx, w, c, sessions[at])
			if err != nil {
				return fmt.Errorf("%s: %s: %w", c.name, w.name, err)
			}
			results[i].Values[c.name] = append(results[i].Values[c.name], value)
		}
	}
	return nil
}

func (p plan) once(ctx context.Context, w work, c contender, s session) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	return w.do(ctx, s, func(ctx context.Context, n int, serverArgs ...string) (func() error, error) {
		return c.many(ctx, n, p.server, append([]string{"serve"}, serverArgs...))
	})
}
