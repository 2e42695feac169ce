package ushertest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the parsed flags of one fx.
type options struct {
	era      string
	versions []string

	silent          map[string]bool
	exitOn          map[string]int
	failures        map[string]failure
	results         map[string]json.RawMessage
	raw             map[string]string
	delays          map[string]time.Duration
	answerCancelled bool

	noiseStdout bool
	noiseStderr int
	banner      string
	child       string // "", "group" or "setsid"
	ignoreEOF   bool
	ignoreTerm  bool
	lock        string

	pages       int
	stuckCursor bool
	emptyCursor bool
	undeclared  bool
	schema      json.RawMessage
	names       []string
	resultBytes int
	content     []string
	isError     bool
	progress    time.Duration
	changeAfter time.Duration
	ttl         json.Number
	scope       string

	app          *appOptions
	instructions string
	elicit       []string
	rounds       int

	log                string
	http               string
	forgetSessionAfter int
	dropStreamAfter    time.Duration
	redirect           string
}

type failure struct {
	code    int64
	message string
	data    json.RawMessage
}

// appOptions shape the app and what is wrong with it.
type appOptions struct {
	mime                                                             string
	size                                                             int
	uri                                                              string
	missing, fails, blob, binary, flat, csp, listed, hidden, appOnly bool
}

const appMIME = "text/html;profile=mcp-app"

var (
	contentKinds = []string{"text", "image", "audio", "link", "embedded", "structured", "unknown"}
	elicitKinds  = []string{"form", "url", "sampling", "roots"}
)

// optional is a flag that may stand alone or carry a value: --child, --child=setsid.
type optional func(string) error

func (optional) String() string       { return "" }
func (f optional) Set(s string) error { return f(s) }
func (optional) IsBoolFlag() bool     { return true }

func parseFlags(args []string) (*options, error) {
	o := &options{
		silent: map[string]bool{}, exitOn: map[string]int{}, failures: map[string]failure{},
		results: map[string]json.RawMessage{}, raw: map[string]string{}, delays: map[string]time.Duration{},
	}
	fs := flag.NewFlagSet("fx", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.protocolFlags(fs)
	o.processFlags(fs)
	o.offerFlags(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if !slices.Contains([]string{"legacy", "modern", "both"}, o.era) {
		return nil, fmt.Errorf("--era %s: want legacy, modern or both", o.era)
	}
	for method, f := range o.failures {
		if f.code == 0 {
			return nil, fmt.Errorf("--error-data %s: there is no --error with a code for it", method)
		}
	}
	if o.pages < 1 || o.rounds < 1 || o.resultBytes < 0 || o.forgetSessionAfter < 0 {
		return nil, errors.New("--pages and --rounds must be at least 1, sizes and counts not negative")
	}
	return o, nil
}

func (o *options) protocolFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.era, "era", "both", "")
	fs.Func("versions", "", func(s string) error { o.versions = strings.Split(s, ","); return nil })
	fs.Func("silent", "", func(s string) error { o.silent[s] = true; return nil })
	fs.Func("exit-on", "", func(s string) error {
		method, status, ok := strings.Cut(s, "=")
		o.exitOn[method] = 1
		if !ok {
			return nil
		}
		n, err := strconv.Atoi(status)
		o.exitOn[method] = n
		return err
	})
	fs.Func("error", "", forMethod(func(method, value string) error {
		code, message, ok := strings.Cut(value, ":")
		if !ok {
			message = "refused on request of the test"
		}
		n, err := strconv.ParseInt(code, 10, 64)
		o.failures[method] = failure{code: n, message: message, data: o.failures[method].data}
		return err
	}))
	fs.Func("error-data", "", forMethod(func(method, value string) error {
		if !json.Valid([]byte(value)) {
			return errors.New("not JSON")
		}
		f := o.failures[method]
		f.data = json.RawMessage(value)
		o.failures[method] = f
		return nil
	}))
	fs.Func("result", "", forMethod(func(method, value string) error {
		if !json.Valid([]byte(value)) {
			return errors.New("not JSON; for anything else there is --raw")
		}
		o.results[method] = json.RawMessage(value)
		return nil
	}))
	fs.Func("raw", "", forMethod(func(method, value string) error { o.raw[method] = value; return nil }))
	fs.Func("delay", "", forMethod(func(method, value string) error {
		d, err := time.ParseDuration(value)
		o.delays[method] = d
		return err
	}))
	fs.BoolVar(&o.answerCancelled, "answer-cancelled", false, "")
}

func (o *options) processFlags(fs *flag.FlagSet) {
	fs.Func("noise", "", func(s string) error {
		where, size, sized := strings.Cut(s, ":")
		switch {
		case where == "stdout" && !sized:
			o.noiseStdout = true
			return nil
		case where == "stderr":
			o.noiseStderr = 64 << 10
			if !sized {
				return nil
			}
			n, err := parseSize(size)
			o.noiseStderr = n
			return err
		}
		return errors.New("want stdout, stderr or stderr:SIZE")
	})
	fs.Var(optional(func(s string) error {
		o.banner = s
		if s == "true" {
			o.banner = "fx is starting"
		}
		return nil
	}), "banner", "")
	fs.Var(optional(func(s string) error {
		switch s {
		case "true":
			o.child = "group"
		case "setsid":
			o.child = s
		default:
			return errors.New("want nothing or setsid")
		}
		return nil
	}), "child", "")
	fs.BoolVar(&o.ignoreEOF, "ignore-eof", false, "")
	fs.BoolVar(&o.ignoreTerm, "ignore-term", false, "")
	fs.StringVar(&o.lock, "lock", "", "")
	fs.StringVar(&o.log, "log", "", "")
	fs.StringVar(&o.http, "http", "", "")
	fs.IntVar(&o.forgetSessionAfter, "forget-session-after", 0, "")
	fs.DurationVar(&o.dropStreamAfter, "drop-stream-after", 0, "")
	fs.StringVar(&o.redirect, "redirect", "", "")
}

func (o *options) offerFlags(fs *flag.FlagSet) {
	fs.IntVar(&o.pages, "pages", 1, "")
	fs.BoolVar(&o.stuckCursor, "stuck-cursor", false, "")
	fs.BoolVar(&o.emptyCursor, "empty-cursor", false, "")
	fs.BoolVar(&o.undeclared, "undeclared", false, "")
	fs.Func("schema", "", func(file string) error {
		data, err := os.ReadFile(file)
		if err == nil && !json.Valid(data) {
			err = errors.New("not JSON")
		}
		o.schema = data
		return err
	})
	fs.Func("names", "", func(file string) error {
		data, err := os.ReadFile(file)
		for name := range strings.Lines(string(data)) {
			if name = strings.TrimRight(name, "\r\n"); name != "" {
				o.names = append(o.names, name)
			}
		}
		return err
	})
	o.resultBytes = 1 << 10
	fs.Func("result-bytes", "", func(s string) (err error) { o.resultBytes, err = parseSize(s); return err })
	fs.Func("content", "", func(s string) (err error) { o.content, err = oneOf(s, contentKinds); return err })
	fs.BoolVar(&o.isError, "is-error", false, "")
	fs.DurationVar(&o.progress, "progress", 0, "")
	fs.DurationVar(&o.changeAfter, "list-changed-after", 0, "")
	o.ttl = "0"
	fs.Func("ttl", "", func(s string) error {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return err
		}
		o.ttl = json.Number(s)
		return nil
	})
	fs.StringVar(&o.scope, "scope", "private", "")
	fs.Var(optional(o.setApp), "app", "")
	fs.StringVar(&o.instructions, "instructions", "", "")
	fs.Var(optional(func(s string) (err error) {
		switch s {
		case "true":
			o.elicit = []string{"form"}
		case "all":
			o.elicit = elicitKinds
		default:
			o.elicit, err = oneOf(s, elicitKinds)
		}
		return err
	}), "elicit", "")
	fs.IntVar(&o.rounds, "rounds", 1, "")
}

func (o *options) setApp(s string) error {
	a := &appOptions{mime: appMIME}
	o.app = a
	if s == "true" {
		return nil
	}
	// A media type has semicolons, never commas, so commas part the options.
	for option := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "mime":
			a.mime = value
		case "size":
			n, err := parseSize(value)
			if err != nil {
				return err
			}
			a.size = n
		case "uri":
			a.uri = value
		case "missing":
			a.missing = true
		case "error":
			a.fails = true
		case "blob":
			a.blob = true
		case "binary":
			a.blob, a.binary = true, true
		case "flat":
			a.flat = true
		case "csp":
			a.csp = true
		case "listed":
			a.listed = true
		case "undeclared":
			a.hidden = true
		case "app-only":
			a.appOnly = true
		default:
			return fmt.Errorf("no app option %q", name)
		}
	}
	return nil
}

// forMethod parses METHOD=VALUE.
func forMethod(set func(method, value string) error) func(string) error {
	return func(s string) error {
		method, value, ok := strings.Cut(s, "=")
		if !ok || method == "" {
			return errors.New("want METHOD=VALUE")
		}
		return set(method, value)
	}
}

func oneOf(s string, known []string) ([]string, error) {
	kinds := strings.Split(s, ",")
	for _, k := range kinds {
		if !slices.Contains(known, k) {
			return nil, fmt.Errorf("%q is none of %s", k, strings.Join(known, ", "))
		}
	}
	return kinds, nil
}

// parseSize reads a number of bytes: 4096, 64KB, 200MB.
func parseSize(s string) (int, error) {
	unit := 1
	switch {
	case strings.HasSuffix(s, "KB"):
		s, unit = strings.TrimSuffix(s, "KB"), 1<<10
	case strings.HasSuffix(s, "MB"):
		s, unit = strings.TrimSuffix(s, "MB"), 1<<20
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 4<<30/unit {
		return 0, fmt.Errorf("%q is no size", s)
	}
	return n * unit, nil
}

// needsProcess reports whether the flags make sense only for a process of fx's own.
func (o *options) needsProcess() bool {
	return o.child != "" || o.ignoreEOF || o.ignoreTerm || o.noiseStderr > 0 || o.lock != ""
}
