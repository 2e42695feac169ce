package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMain makes the test binary the server when it is started as one, like the program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serve(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Every contender does the same work: the texts have the length asked for, all tools are listed, reports arrive.
func TestEveryContenderDoesTheWork(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	few := []work{
		{workCall, microseconds, sequential(smallText, 20)},
		{workCalls, microseconds, concurrent(smallText, 100)},
		{workMiddle, microseconds, sequential(middleText, 1)},
		{workAllocated, bytesPerCall, allocated(smallText, 20)},
		{workList, microseconds, list(1)},
	}
	m, err := measure(t.Context(), plan{
		server: exe, contenders: contenders(), works: few, only: regexp.MustCompile(""), rounds: 2, progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range m.Works {
		for _, c := range m.Contenders {
			values := s.Values[c]
			if len(values) != 2 || values[0] <= 0 || values[1] <= 0 {
				t.Errorf("%s of %s measured %v, want two positive values", s.Name, c, values)
			}
		}
	}
}

func TestReportComparesWithinARound(t *testing.T) {
	t.Parallel()
	r := newReport(measurement{Contenders: []string{floorName, hostName}, Works: []series{
		// The second round was five times slower for both; the ratio does not see it.
		{Name: workCall, Unit: microseconds, Values: map[string][]float64{floorName: {10, 50, 10}, hostName: {12, 60, 14}}},
		{Name: workCalls, Unit: microseconds, Values: map[string][]float64{floorName: {10, 10, 10}, hostName: {16, 17, 18}}},
		{Name: workAllocated, Unit: bytesPerCall, Values: map[string][]float64{floorName: {2000, 2000, 2000}, hostName: {5000, 4000, 9000}}},
	}})
	want := map[string]target{
		workCall:      {Value: 1.2, Met: true},
		workCalls:     {Value: 1.7, Met: false},
		workAllocated: {Value: 5000, Met: true},
	}
	if len(r.Targets) != len(want) {
		t.Fatalf("%d targets were judged, want %d: %+v", len(r.Targets), len(want), r.Targets)
	}
	for _, got := range r.Targets {
		w := want[got.Work]
		if diff := got.Value - w.Value; got.Met != w.Met || diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s: value %v, met %v; want %v, %v", got.Work, got.Value, got.Met, w.Value, w.Met)
		}
	}
	if !r.missed() {
		t.Error("missed() is false with a missed target")
	}
	if text := string(r.markdown()); !strings.Contains(text, "| usher.Host, "+workCalls+" | 1.50 × floor | 1.70 | **missed** |") {
		t.Errorf("the Markdown does not tell the missed target:\n%s", text)
	}
}

func TestResultsAreSaved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "results")
	saved := newReport(measurement{Contenders: []string{floorName}, Works: []series{
		{Name: workCall, Unit: microseconds, Values: map[string][]float64{floorName: {10}}},
	}})
	if err := saved.save(dir); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read report
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if got := read.Measurement.values(workCall, floorName); len(got) != 1 || got[0] != 10 {
		t.Errorf("results.json has %v for the floor, want [10]", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "results.md")); err != nil {
		t.Error(err)
	}
}

func TestServerFindsIDMethodAndTool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, key, want string }{
		{`{"jsonrpc":"2.0","id":7,"method":"ping"}`, `"id":`, `7`},
		{`{"id":"a-1","method":"ping"}`, `"id":`, `"a-1"`},
		{`{"method":"ping","id":9}`, `"id":`, `9`},
		{`{"params":{"name":"text-5"}}`, `"name":`, `"text-5"`},
		{`{"method":"notifications/initialized"}`, `"id":`, ``},
	} {
		if got := string(after([]byte(c.line), c.key)); got != c.want {
			t.Errorf("after(%s, %s) = %s, want %s", c.line, c.key, got, c.want)
		}
	}
}
