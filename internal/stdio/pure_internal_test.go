package stdio

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// windowsDisk answers for a set of files as Windows would: without regard to case.
func windowsDisk(files ...string) statFunc {
	disk := fstest.MapFS{"file": {}}
	return func(path string) (fs.FileInfo, error) {
		for _, f := range files {
			if strings.EqualFold(f, path) {
				return disk.Stat("file")
			}
		}
		return nil, fs.ErrNotExist
	}
}

func TestLookWindows(t *testing.T) {
	disk := windowsDisk(
		`C:\node\npx.cmd`, `C:\node\npx`, `C:\node\node.exe`, `C:\tools\run.ps1`, `D:\work\srv.exe`, `D:\work\bin\x.bat`, `D:\work\plain`,
		`\\host\share\net.exe`, `C:\first\npx.exe`,
	)
	const path = `relative;.;"C:\node";C:\tools;\\host\share`
	for _, tc := range []struct {
		name, command, path, pathext string
		want                         string
		err                          error
	}{
		{"a script by its bare name", "npx", path, ".COM;.EXE;.BAT;.CMD", `C:\node\npx.cmd`, nil},
		{"PATHEXT decides the order within a directory", "npx", path, ".exe;.cmd", `C:\node\npx.cmd`, nil},
		{"PATH decides the order of directories", "npx", `C:\first;C:\node`, ".CMD;.EXE", `C:\first\npx.exe`, nil},
		{"with its extension", "node.EXE", path, "", `C:\node\node.EXE`, nil},
		{"no PATHEXT", "node", path, "", `C:\node\node.exe`, nil},
		{"PATHEXT without dots and with blanks", "node", path, " exe ; ", `C:\node\node.exe`, nil},
		{"an extension that does not run", "run.ps1", path, "", "", fs.ErrNotExist},
		{"an extension made to run", "run", path, ".PS1", `C:\tools\run.ps1`, nil},
		{"a share", "net", path, "", `\\host\share\net.exe`, nil},
		{"relative to the working directory", `.\srv`, path, "", `D:\work\.\srv.exe`, nil},
		{"forward slashes", `bin/x`, path, "", `D:\work\bin\x.bat`, nil},
		{"absolute", `C:\node\node`, path, "", `C:\node\node.exe`, nil},
		{"a file that is no program", `D:\work\plain`, path, "", `D:\work\plain`, errNotExecutable},
		{"the current directory is not searched", "srv", path, "", "", fs.ErrNotExist},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := `D:\work`
			got, searched, err := lookWindows(tc.command, dir, tc.path, tc.pathext, func(p string) (fs.FileInfo, error) {
				return disk(strings.ReplaceAll(p, `\.\`, `\`))
			})
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("got %q, %v; want %q, %v", got, err, tc.want, tc.err)
			}
			for _, d := range searched {
				if !windowsAbs(d) {
					t.Errorf("searched %q", d)
				}
			}
		})
	}
}

func TestBatchCommandLine(t *testing.T) {
	const prefix = `"C:\cmd.exe" /e:on /v:off /d /s /c ""C:\a b\npx.cmd"`
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"none", nil, `"`},
		{"plain", []string{"-y", "pkg"}, ` "-y" "pkg""`},
		{"empty", []string{""}, ` """`},
		{"blanks and operators are inside quotes", []string{"a b", "x & calc", "<|>^()"}, ` "a b" "x & calc" "<|>^()""`},
		{"quotes are doubled", []string{`say "hi"`}, ` "say ""hi""""`},
		{"backslashes before a quote are doubled", []string{`a\"b`, `end\`}, ` "a\\""b" "end\\""`},
		{"percent cannot expand", []string{"%PATH%"}, ` "%%cd:~,%PATH%%cd:~,%""`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := batchCommandLine(`C:\cmd.exe`, `C:\a b\npx.cmd`, tc.args)
			if err != nil || got != prefix+tc.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, prefix+tc.want)
			}
		})
	}
	for _, bad := range []string{"a\nb", "a\rb", "a\x00b"} {
		if _, err := batchCommandLine("cmd", "x.cmd", []string{bad}); !errors.Is(err, errBatchArgument) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestOnlyBatchScriptsNeedTheInterpreter(t *testing.T) {
	for file, want := range map[string]bool{
		`C:\n\npx.cmd`: true, `C:\n\NPX.CMD`: true, `x.bat`: true, `C:\a.cmd\node`: false, `node.exe`: false, `cmd`: false,
	} {
		if got := isBatch(file); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}

func TestEnvironmentOfWindows(t *testing.T) {
	host := []string{`Path=C:\x`, `SystemRoot=C:\Windows`, "OPENAI_API_KEY=canary", "=C:=C:\\", "HOME=/h", "LC_ALL=C"}
	got := environment("windows", host, map[string]string{"PATH": `C:\mine`})
	want := map[string]string{"PATH": `C:\mine`, "SystemRoot": `C:\Windows`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	setVariable("windows", got, "path", "p")
	if v := variable("windows", got, "PATH"); v != "p" || len(got) != 2 {
		t.Errorf("PATH is %q in %v", v, got)
	}
}

func TestContain(t *testing.T) {
	for _, tc := range []struct {
		file string
		args string
		want string // FILE stands for the id file; empty: no container
	}{
		{"/usr/bin/docker", "run -i --rm img", "run --cidfile FILE -i --rm img"},
		{"/usr/bin/docker", "run -i img", "run --cidfile FILE --rm -i img"},
		{"/usr/bin/podman", "container run -i -e KEY img --rm", "container run --cidfile FILE --rm -i -e KEY img --rm"},
		{"docker.exe", "--context far -H tcp://x run img", "--context far -H tcp://x run --cidfile FILE --rm img"},
		{"docker", "run --restart=always -i img", "run --cidfile FILE --restart=always -i img"},
		{"docker", "run -itd img", "run --cidfile FILE -itd img"},
		{"docker", "run --rm=false -i img", "run --cidfile FILE --rm=false -i img"},
		{"docker", "run --cidfile MINE -i img", "run --rm --cidfile MINE -i img"},
		{"docker", "run --cidfile=MINE -i img", "run --rm --cidfile=MINE -i img"},
		{"docker", "run -i img --cidfile x -d", "run --cidfile FILE --rm -i img --cidfile x -d"},
		{"docker", "run", "run --cidfile FILE --rm"},
		{"docker", "mcp gateway run", ""},
		{"docker", "exec -i box server", ""},
		{"docker-compose", "run x", ""},
		{"node", "run x", ""},
	} {
		t.Run(tc.file+" "+tc.args, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			args := strings.Fields(tc.args)
			got, c, err := contain(tc.file, args, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" {
				if c != nil || strings.Join(got, " ") != tc.args {
					t.Errorf("got %q", got)
				}
				return
			}
			defer c.discard()
			if strings.Contains(tc.want, "MINE") && c.idFile != "MINE" {
				t.Errorf("id file %q", c.idFile)
			}
			if text := strings.ReplaceAll(strings.Join(got, " "), c.idFile, "FILE"); text != strings.ReplaceAll(tc.want, "MINE", "FILE") && text != tc.want {
				t.Errorf("got  %s\nwant %s", text, tc.want)
			}
			if strings.Join(args, " ") != tc.args {
				t.Error("the caller's arguments were changed")
			}
		})
	}
}

func TestRingKeepsTheEnd(t *testing.T) {
	for _, tc := range []struct {
		writes  string // parted by |
		want    string
		dropped bool
	}{
		{"", "", false},
		{"abc", "abc", false},
		{"abcdefgh", "abcdefgh", false},
		{"abcdefghi", "bcdefghi", true},
		{"abcdef|ghij", "cdefghij", true},
		{"abcdef|ghij|k|lmnopqr", "klmnopqr", true},
		{"ab|" + strings.Repeat("x", 50) + "end", "xxxxxend", true},
		{"abcd|efgh", "abcdefgh", false},
		{"abcdefgh|", "abcdefgh", false},
		{"abcd|efghijkl|mn", "ghijklmn", true},
		{"|a|b|cdefgh|ijklmnop", "ijklmnop", true},
	} {
		r := newRing(8)
		for w := range strings.SplitSeq(tc.writes, "|") {
			if n, err := r.Write([]byte(w)); n != len(w) || err != nil {
				t.Fatalf("Write: %d, %v", n, err)
			}
		}
		if got, dropped := r.tail(); got != tc.want || dropped != tc.dropped {
			t.Errorf("%q: got %q, %v; want %q, %v", tc.writes, got, dropped, tc.want, tc.dropped)
		}
	}
}
