package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// target is a promise: one work of one contender against a baseline of the same run, or an absolute value.
type target struct {
	Work      string  `json:"work"`
	Contender string  `json:"contender"`
	Baseline  string  `json:"baseline,omitempty"` // a contender, or a work of the same contender; empty for absolute
	Limit     float64 `json:"limit"`
	Value     float64 `json:"value"`
	Met       bool    `json:"met"`
}

// targets are the numbers to beat.
func targets() []target {
	return []target{
		{Work: workCall, Contender: hostName, Baseline: floorName, Limit: 1.3},
		{Work: workCall, Contender: hostName, Baseline: mcpGoName, Limit: 1.0},
		{Work: workCall, Contender: hostName, Baseline: goSDKName, Limit: 0.6},
		{Work: workCalls, Contender: hostName, Baseline: floorName, Limit: 1.5},
		{Work: workCalls, Contender: hostName, Baseline: mcpGoName, Limit: 0.9},
		{Work: workCalls, Contender: hostName, Baseline: goSDKName, Limit: 0.2},
		{Work: workMiddle, Contender: hostName, Baseline: floorName, Limit: 1.2},
		{Work: workLarge, Contender: hostName, Baseline: floorName, Limit: 1.2},
		{Work: workAllocated, Contender: hostName, Limit: 8 << 10},
		{Work: workList, Contender: clientName, Baseline: floorName, Limit: 1.5},
		{Work: workList, Contender: hostName, Limit: 20}, // its catalog is there already: nothing is sent
		{Work: workProgress, Contender: hostName, Baseline: floorName, Limit: 2},
		{Work: workMany, Contender: hostName, Baseline: workOne, Limit: 1.1},
		{Work: workStart, Contender: daemonName, Limit: 150},
		{Work: workResident, Contender: daemonName, Limit: 60},
		{Work: workStream, Contender: daemonName, Limit: 20},
	}
}

// report is a measurement with its verdicts.
type report struct {
	Measurement measurement `json:"measurement"`
	Targets     []target    `json:"targets"`
}

func newReport(m measurement) report {
	r := report{Measurement: m}
	for _, t := range targets() {
		values := m.values(t.Work, t.Contender)
		base := m.values(t.Work, t.Baseline)
		if base == nil {
			base = m.values(t.Baseline, t.Contender)
		}
		if values == nil || t.Baseline != "" && base == nil {
			continue // not measured in this run
		}
		t.Value = median(values)
		if t.Baseline != "" {
			t.Value = median(ratios(values, base))
		}
		t.Met = t.Value <= t.Limit
		r.Targets = append(r.Targets, t)
	}
	return r
}

func (r report) missed() bool {
	return slices.ContainsFunc(r.Targets, func(t target) bool { return !t.Met })
}

// values are a work's values of one contender, by round; nil when it was not measured.
func (m measurement) values(work, contender string) []float64 {
	for _, s := range slices.Concat(m.Works, m.Daemon) {
		if s.Name == work {
			return s.Values[contender]
		}
	}
	return nil
}

// ratios are the quotients round by round, so that a slow moment of the machine is in both or in neither.
func ratios(values, base []float64) []float64 {
	out := make([]float64, min(len(values), len(base)))
	for i := range out {
		out[i] = values[i] / base[i]
	}
	return out
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// markdown is the report for people.
func (r report) markdown() []byte {
	m := r.Measurement
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Benchmarks\n\n%s, %s, %d cores, %d rounds.\n", m.Time.Format("2006-01-02 15:04 MST"), m.Go, m.Cores, m.Rounds)
	if len(m.Works) > 0 {
		m.compare(&b)
	}
	if len(m.Daemon) > 0 {
		b.WriteString("\n| daemon | median | range |\n|---|---|---|\n")
	}
	for _, s := range m.Daemon {
		v := s.Values[daemonName]
		fmt.Fprintf(&b, "| %s | %s | %s–%s |\n", s.Name, quantity(median(v), s.Unit), quantity(slices.Min(v), s.Unit), quantity(slices.Max(v), s.Unit))
	}
	if len(r.Targets) > 0 {
		b.WriteString("\n| target | limit | measured | |\n|---|---|---|---|\n")
	}
	for _, t := range r.Targets {
		verdict := "met"
		if !t.Met {
			verdict = "**missed**"
		}
		against := ""
		if t.Baseline != "" {
			against = " × " + t.Baseline
		}
		fmt.Fprintf(&b, "| %s, %s | %s%s | %s | %s |\n", t.Contender, t.Work, number(t.Limit), against, number(t.Value), verdict)
	}
	return b.Bytes()
}

// number is a ratio or an absolute value with the digits that matter.
func number(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// compare writes the table of contenders.
func (m measurement) compare(b *bytes.Buffer) {
	b.WriteString("Each cell: median, and in brackets the median ratio to the floor with its range over the rounds.\n\n")
	fmt.Fprintf(b, "| work | %s |\n|---|%s\n", strings.Join(m.Contenders, " | "), strings.Repeat("---|", len(m.Contenders)))
	for _, s := range m.Works {
		fmt.Fprintf(b, "| %s |", s.Name)
		for _, c := range m.Contenders {
			fmt.Fprintf(b, " %s", quantity(median(s.Values[c]), s.Unit))
			if c != floorName {
				q := ratios(s.Values[c], s.Values[floorName])
				fmt.Fprintf(b, " (%.2f; %.2f–%.2f)", median(q), slices.Min(q), slices.Max(q))
			}
			b.WriteString(" |")
		}
		b.WriteByte('\n')
	}
}

func quantity(v float64, unit string) string {
	switch {
	case unit == microseconds && v >= 10_000:
		return fmt.Sprintf("%.0f ms", v/1000)
	case v < 10:
		return fmt.Sprintf("%.1f %s", v, unit)
	default:
		return fmt.Sprintf("%.0f %s", v, unit)
	}
}

// save writes results.md and results.json.
func (r report) save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("save the results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "results.md"), r.markdown(), 0o644); err != nil {
		return fmt.Errorf("save the results: %w", err)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("save the results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "results.json"), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("save the results: %w", err)
	}
	return nil
}
