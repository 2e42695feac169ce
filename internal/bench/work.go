package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// message is the argument of every call: 100 bytes.
var message = strings.Repeat("m", 100)

// session is one client's connection to one server.
type session interface {
	// call returns the length of the result's text. progress, when not nil, is called for each report, one at a time.
	call(ctx context.Context, tool string, progress func()) (int, error)
	// list returns how many tools there are.
	list(ctx context.Context) (int, error)
	close() error
}

// contender is one client.
type contender struct {
	name string
	dial func(ctx context.Context, command string, args []string) (session, error)
	// dialMany opens n sessions at once and returns what closes them; nil means n times dial.
	dialMany func(ctx context.Context, n int, command string, args []string) (closeAll func() error, err error)
}

// many opens n sessions at once.
func (c contender) many(ctx context.Context, n int, command string, args []string) (closeAll func() error, err error) {
	if c.dialMany != nil {
		return c.dialMany(ctx, n, command, args)
	}
	sessions := make([]session, n)
	closeAll = func() error {
		var g errgroup.Group
		for _, s := range sessions {
			if s != nil {
				g.Go(s.close)
			}
		}
		return g.Wait()
	}
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() (err error) {
			sessions[i], err = c.dial(ctx, command, args)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, errors.Join(err, closeAll())
	}
	return closeAll, nil
}

// work is one thing that is measured. Less is better in every unit.
type work struct {
	name string
	unit string // of the value that do returns: "µs" or "bytes"
	// do measures once, over an open session or with sessions of its own through dial.
	do func(ctx context.Context, s session, dial dialer) (float64, error)
}

// dialer opens n more sessions of the contender at once, with arguments for their servers.
type dialer func(ctx context.Context, n int, serverArgs ...string) (closeAll func() error, err error)

// The sizes of the work: long enough to be over the clock's noise, short enough for five rounds in a minute.
const (
	warmUp        = 50
	smallCalls    = 1500
	atOnce        = 64
	middleCalls   = 150
	largeCalls    = 6
	listCalls     = 10
	reports       = 100_000
	manyServers   = 20
	serverLoads   = 250 * time.Millisecond
	smallText     = 100
	middleText    = 100 << 10
	largeText     = 5 << 20
	microseconds  = "µs"
	bytesPerCall  = "bytes"
	workCall      = "call 100 B, one at a time"
	workCalls     = "call 100 B, 64 at once"
	workMiddle    = "call 100 KB"
	workLarge     = "call 5 MB"
	workAllocated = "allocated by a call of 100 B"
	workList      = "list 1 000 tools"
	workProgress  = "call with 100 000 progress reports"
	workOne       = "connect to 1 server that loads for 250 ms"
	workMany      = "connect to 20 of them at once"
)

func works() []work {
	return []work{
		{workCall, microseconds, sequential(smallText, smallCalls)},
		{workCalls, microseconds, concurrent(smallText, smallCalls*2)},
		{workMiddle, microseconds, sequential(middleText, middleCalls)},
		{workLarge, microseconds, sequential(largeText, largeCalls)},
		{workAllocated, bytesPerCall, allocated(smallText, smallCalls)},
		{workList, microseconds, list(listCalls)},
		{workProgress, microseconds, progress},
		{workOne, microseconds, connect(1)},
		{workMany, microseconds, connect(manyServers)},
	}
}

// perOperation is the time since began for one of n operations, in microseconds.
func perOperation(began time.Time, n int) float64 {
	return float64(time.Since(began).Nanoseconds()) / 1e3 / float64(n)
}

func callText(ctx context.Context, s session, size int) error {
	n, err := s.call(ctx, fmt.Sprintf("text-%d", size), nil)
	if err == nil && n != size {
		err = fmt.Errorf("the result has %d bytes of text, want %d", n, size)
	}
	return err
}

func callN(ctx context.Context, s session, size, n int) error {
	for range n {
		if err := callText(ctx, s, size); err != nil {
			return err
		}
	}
	return nil
}

func sequential(size, n int) func(context.Context, session, dialer) (float64, error) {
	return func(ctx context.Context, s session, _ dialer) (float64, error) {
		if err := callN(ctx, s, size, min(warmUp, n/3)); err != nil {
			return 0, err
		}
		began := time.Now()
		err := callN(ctx, s, size, n)
		return perOperation(began, n), err
	}
}

func concurrent(size, n int) func(context.Context, session, dialer) (float64, error) {
	return func(ctx context.Context, s session, _ dialer) (float64, error) {
		if err := callN(ctx, s, size, warmUp); err != nil {
			return 0, err
		}
		var left atomic.Int64
		left.Store(int64(n))
		began := time.Now()
		var g errgroup.Group
		for range atOnce {
			g.Go(func() error {
				for left.Add(-1) >= 0 {
					if err := callText(ctx, s, size); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err := g.Wait()
		return perOperation(began, n), err
	}
}

func allocated(size, n int) func(context.Context, session, dialer) (float64, error) {
	return func(ctx context.Context, s session, _ dialer) (float64, error) {
		if err := callN(ctx, s, size, warmUp); err != nil {
			return 0, err
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := callN(ctx, s, size, n)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(n), err
	}
}

func list(n int) func(context.Context, session, dialer) (float64, error) {
	return func(ctx context.Context, s session, _ dialer) (float64, error) {
		began := time.Now()
		for range n {
			got, err := s.list(ctx)
			if err != nil {
				return 0, err
			}
			if got != listedTools {
				return 0, fmt.Errorf("listed %d tools, want %d", got, listedTools)
			}
		}
		return perOperation(began, n), nil
	}
}

// progress measures the call alone. Reports that a client hands out late or drops are counted as what they are: some
// clients coalesce, and the spec lets them.
func progress(ctx context.Context, s session, _ dialer) (float64, error) {
	var seen atomic.Int64
	began := time.Now()
	_, err := s.call(ctx, fmt.Sprintf("progress-%d", reports), func() { seen.Add(1) })
	took := perOperation(began, 1)
	if err == nil && seen.Load() == 0 {
		err = fmt.Errorf("none of %d progress reports arrived", reports)
	}
	return took, err
}

func connect(n int) func(context.Context, session, dialer) (float64, error) {
	return func(ctx context.Context, _ session, dial dialer) (float64, error) {
		began := time.Now()
		closeAll, err := dial(ctx, n, "-delay", serverLoads.String(), "-tools", "10")
		took := perOperation(began, 1)
		if err != nil {
			return 0, err
		}
		return took, closeAll()
	}
}
