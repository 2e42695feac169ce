package cli_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/usher-mcp/usher/client"
	"github.com/usher-mcp/usher/internal/cli"
)

const kinds = `{"type": "object", "required": ["s"], "properties": {
	"s": {"type": "string", "description": "some text"}, "n": {"type": "number"}, "i": {"type": "integer"}, "b": {"type": "boolean"},
	"ls": {"type": "array", "items": {"type": "string"}}, "li": {"type": "array", "items": {"type": "integer"}},
	"o": {"type": "object"}, "any": {}, "e": {"enum": ["red", "green", 3]}, "c": {"const": "only"},
	"ns": {"type": ["string", "null"]}, "ni": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
	"r": {"$ref": "#/$defs/level"}, "loop": {"$ref": "#/$defs/loop"}, "slashed~key": {"$ref": "#/$defs/a~1b"}},
	"$defs": {"level": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}, "a/b": {"type": "boolean"}}}`

func TestKeyedArguments(t *testing.T) {
	for _, tt := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"s=hi"}, `{"s":"hi"}`},
		{[]string{"s="}, `{"s":""}`},
		{[]string{"s=5"}, `{"s":"5"}`},
		{[]string{"s=true"}, `{"s":"true"}`},
		{[]string{`s="quoted" <&> ü`}, `{"s":"\"quoted\" <&> ü"}`},
		{[]string{"s=a=b"}, `{"s":"a=b"}`},
		{[]string{"n=1.50", "s=x", "i=9007199254740993"}, `{"n":1.50,"s":"x","i":9007199254740993}`}, // text and order stand
		{[]string{"s=x", "n=-3"}, `{"s":"x","n":-3}`},
		{[]string{"s=x", "i=4.0"}, `{"s":"x","i":4.0}`},
		{[]string{"s=x", "b=false"}, `{"s":"x","b":false}`},
		{[]string{"s=x", "ls=a", "ls=b"}, `{"s":"x","ls":["a","b"]}`},
		{[]string{"s=x", "ls=a"}, `{"s":"x","ls":["a"]}`},
		{[]string{"s=x", `ls=["a","b"]`}, `{"s":"x","ls":["a","b"]}`},
		{[]string{"s=x", `ls=["a"]`, "ls=b"}, `{"s":"x","ls":["a","b"]}`},
		{[]string{"s=x", "li=1", "li=2"}, `{"s":"x","li":[1,2]}`},
		{[]string{"s=x", `ls:=[]`}, `{"s":"x","ls":[]}`},
		{[]string{"s=x", `o={"k": [1]}`}, `{"s":"x","o":{"k": [1]}}`},
		{[]string{"s=x", "any=5", "r=2"}, `{"s":"x","any":5,"r":2}`},
		{[]string{"s=x", "any=word"}, `{"s":"x","any":"word"}`},
		{[]string{"s=x", "e=green"}, `{"s":"x","e":"green"}`},
		{[]string{"s=x", "e=3"}, `{"s":"x","e":3}`},
		{[]string{"s=x", "c=only"}, `{"s":"x","c":"only"}`},
		{[]string{"s=x", "ns=null"}, `{"s":"x","ns":null}`},
		{[]string{"s=x", "ns=nil"}, `{"s":"x","ns":"nil"}`},
		{[]string{"s=x", "ni=null"}, `{"s":"x","ni":null}`},
		{[]string{"s=x", "ni=7"}, `{"s":"x","ni":7}`},
		{[]string{"s=x", "slashed~key=true"}, `{"s":"x","slashed~key":true}`},
		{[]string{"s=x", "loop=1"}, `{"s":"x","loop":1}`},
		{[]string{`s:="raw"`}, `{"s":"raw"}`},
	} {
		got, err := cli.KeyedArguments(kinds, tt.pairs...)
		if err != nil {
			t.Errorf("%q: %v", tt.pairs, err)
			continue
		}
		if got != tt.want || !json.Valid([]byte(got)) {
			t.Errorf("%q = %s, want %s", tt.pairs, got, tt.want)
		}
	}
}

func TestKeyedArgumentsErrors(t *testing.T) {
	for _, tt := range []struct {
		pairs         []string
		message, hint string
	}{
		{nil, "tool t needs s: some text", ""},
		{[]string{"s"}, `"s": want key=value or key:=JSON`, ""},
		{[]string{"=x"}, `"=x": want key=value or key:=JSON`, ""},
		{[]string{"s=x", "ayn=1"}, `tool t takes no argument "ayn"`, `did you mean "any"?`},
		{[]string{"s=x", "s=y"}, "s is given twice, and takes one value", ""},
		{[]string{"s=x", "n=two"}, `n: want a number, got "two"`, ""},
		{[]string{"s=x", "i=1.5"}, `i: want a whole number, got "1.5"`, ""},
		{[]string{"s=x", "b=yes"}, `b: want true or false, got "yes"`, ""},
		{[]string{"s=x", "li=one"}, `li: want a whole number, got "one"`, ""},
		{[]string{"s=x", "o=k"}, `o: want an object as JSON, such as '{"key": "value"}', got "k"`, ""},
		{[]string{"s=x", "e=gren"}, `e: want one of red, green, 3, got "gren"; did you mean "green"?`, ""},
		{[]string{"s=x", "n:=1,"}, `n: want JSON, got "1,"`, ""},
	} {
		_, err := cli.KeyedArguments(kinds, tt.pairs...)
		var failure *client.Error
		if !errors.As(err, &failure) || failure.Code != client.CodeInvalid {
			t.Errorf("%q: %v", tt.pairs, err)
			continue
		}
		if failure.Message != tt.message {
			t.Errorf("%q: %q, want %q", tt.pairs, failure.Message, tt.message)
		}
		if tt.hint != "" && failure.Hint != tt.hint {
			t.Errorf("%q: hint %q, want %q", tt.pairs, failure.Hint, tt.hint)
		}
	}
}

func TestKeyedArgumentsOfOtherSchemas(t *testing.T) {
	for _, tt := range []struct{ schema, pair, want string }{
		{``, "k=v", `{"k":"v"}`},
		{`{}`, "k=1", `{"k":1}`},
		{`true`, "k=v", `{"k":"v"}`},
		{`{"type":"object","properties":{"a":{}},"additionalProperties":true}`, "k=v", `{"k":"v"}`},
		{`{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}`, "k=v", `{"k":"v"}`},
		{`{"type":"object","properties":{"a":true}}`, "a=v", `{"a":"v"}`},
	} {
		if got, err := cli.KeyedArguments(tt.schema, tt.pair); err != nil || got != tt.want {
			t.Errorf("%s: %s = %s, %v; want %s", tt.schema, tt.pair, got, err, tt.want)
		}
	}
	if got, err := cli.KeyedArguments(`{"type":"object","additionalProperties":false}`, "k=v"); err == nil {
		t.Errorf("a closed object takes %s", got)
	}
}

func TestSplitWords(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"node server.js stdio", []string{"node", "server.js", "stdio"}},
		{"  a\tb\nc  ", []string{"a", "b", "c"}},
		{`a 'b c' "d e"`, []string{"a", "b c", "d e"}},
		{`a'b'"c"d`, []string{"abcd"}},
		{`'' ""`, []string{"", ""}},
		{`a\ b \'c\' \"`, []string{"a b", "'c'", `"`}},
		{`"a \"b\" \\ \$x \n"`, []string{`a "b" \ $x \n`}},
		{`'a\b $HOME'`, []string{`a\b $HOME`}},
		{"$HOME *.go ; | >", []string{"$HOME", "*.go", ";", "|", ">"}},
		{"ü 'ö ä'", []string{"ü", "ö ä"}},
		{"", nil},
	} {
		got, err := cli.SplitWords(tt.in)
		if err != nil || !cmp.Equal(got, tt.want) {
			t.Errorf("SplitWords(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{`a 'b`, `a "b`, `a\`, `"a\"`} {
		if got, err := cli.SplitWords(in); err == nil {
			t.Errorf("SplitWords(%q) = %q", in, got)
		}
	}
}

func TestPrintable(t *testing.T) {
	in := "a\x1b[31mred\x07\r\nb\tc\u202e\u009b"
	if got, want := cli.Printable(in), "a\ufffd[31mred\ufffd\nb\tc\ufffd\ufffd"; got != want {
		t.Errorf("Printable = %q, want %q", got, want)
	}
}

// Every code that a session's error can carry has its exit code; docs/exit-codes.md says the same.
func TestExitCodes(t *testing.T) {
	for code, want := range map[client.Code]int{
		client.CodeConfig: 2, client.CodeNotFound: 2, client.CodeInvalid: 2,
		client.CodeUnavailable: 3, client.CodeIncompat: 3, client.CodeUnknown: 3, client.CodeUnsupported: 3,
		client.CodeDenied: 4, client.CodeLogin: 5, client.CodeProtocol: 6, client.CodeRPC: 6,
		client.CodeTimeout: 124, client.CodeCancelled: 130,
	} {
		if got := cli.ExitCodeOf(code); got != want {
			t.Errorf("%s exits with %d, want %d", code, got, want)
		}
	}
}
