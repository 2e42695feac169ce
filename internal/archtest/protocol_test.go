package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/usher-mcp/usher/schema"
)

// protocolRows are the rows of the protocol that the project counts with: how many each group has. The numbers are never
// given anew.
var protocolRows = map[string]int{
	"BASE": 41, "DISC": 8, "NEG": 35, "EXT": 5, "STD": 19, "HTTP": 23, "HDR": 22, "MRTR": 26, "SUB": 23, "CAN": 12, "PRG": 7, "CACHE": 25,
}

const rowsFile = "docs/protocol-rows.md"

var (
	rowID    = regexp.MustCompile(`\b([A-Z]+)-(\d{2})\b`)
	rowRange = regexp.MustCompile(`\b([A-Z]+)-(\d{2}) to ([A-Z]+)-(\d{2})\b`)
	// testName is a test in the table: its package and its name.
	testName = regexp.MustCompile("`([a-z]+)\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")
)

func knownRow(id string) bool {
	group, number, _ := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	return err == nil && n >= 1 && n <= protocolRows[group]
}

// cited lists the rows of the known groups that a text names, ranges included.
func cited(text string) []string {
	ids := map[string]bool{}
	for _, m := range rowRange.FindAllStringSubmatch(text, -1) {
		from, _ := strconv.Atoi(m[2])
		to, _ := strconv.Atoi(m[4])
		if m[1] != m[3] || protocolRows[m[1]] == 0 {
			continue
		}
		for n := from; n <= to; n++ {
			ids[m[1]+"-"+twoDigits(n)] = true
		}
	}
	for _, m := range rowID.FindAllStringSubmatch(text, -1) {
		if protocolRows[m[1]] > 0 {
			ids[m[0]] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

func twoDigits(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// rowsTable reads the table: what it says of each row, in its order.
func rowsTable(t *testing.T) (ids []string, says map[string]string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), rowsFile))
	if err != nil {
		t.Fatal(err)
	}
	says = map[string]string{}
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		id := strings.TrimSpace(cells[0])
		if !strings.HasPrefix(line, "|") || !rowID.MatchString(id) {
			continue
		}
		if len(cells) != 3 || strings.TrimSpace(cells[1]) == "" {
			t.Errorf("%s: %s has %d cells, want row, subject, proof", rowsFile, id, len(cells))
			continue
		}
		ids = append(ids, id)
		says[id] = strings.TrimSpace(cells[2])
	}
	return ids, says
}

// goTests lists the tests of each package by its name in the table ("usher" for the root), with what their doc comments
// say.
func goTests(t *testing.T) map[string]map[string]string {
	t.Helper()
	tests := map[string]map[string]string{}
	eachFile(t, func(file string, content []byte) {
		if !strings.HasSuffix(file, "_test.go") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, content, parser.ParseComments)
		if err != nil {
			t.Logf("%s is left out: %v", file, err)
			return
		}
		name := path.Base(path.Dir(file))
		if path.Dir(file) == "." {
			name = "usher"
		}
		if tests[name] == nil {
			tests[name] = map[string]string{}
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				tests[name][f.Name.Name] = f.Doc.Text()
			}
		}
	})
	return tests
}

// TestEveryProtocolRowIsAnswered holds docs/protocol-rows.md to the code: each row once and in order, proven by tests that
// exist, or with a reason why it is not.
func TestEveryProtocolRowIsAnswered(t *testing.T) {
	t.Parallel()
	ids, says := rowsTable(t)
	tests := goTests(t)
	seen := map[string]int{}
	for i, id := range ids {
		seen[id]++
		switch {
		case !knownRow(id):
			t.Errorf("%s has a row %s, which there is not", rowsFile, id)
		case seen[id] > 1:
			t.Errorf("%s has the row %s twice", rowsFile, id)
		case i > 0 && sameGroup(ids[i-1], id) && ids[i-1] > id:
			t.Errorf("%s: %s stands after %s", rowsFile, id, ids[i-1])
		}
		proofs := testName.FindAllStringSubmatch(says[id], -1)
		for _, m := range proofs {
			if _, ok := tests[m[1]][m[2]]; !ok {
				t.Errorf("%s: %s is proven by %s.%s, which there is not", rowsFile, id, m[1], m[2])
			}
		}
		if len(proofs) == 0 && !strings.HasPrefix(says[id], "does not apply: ") && !strings.HasPrefix(says[id], "not yet: ") {
			t.Errorf("%s: %s names no test and neither says \"does not apply: …\" nor \"not yet: …\"", rowsFile, id)
		}
		if strings.Count(says[id], "`")%2 != 0 || len(proofs) != strings.Count(says[id], ".Test")+strings.Count(says[id], ".Fuzz") {
			t.Errorf("%s: %s names a test in a way that is not understood; write `package.TestName`", rowsFile, id)
		}
	}
	for group, n := range protocolRows {
		for i := 1; i <= n; i++ {
			if id := group + "-" + twoDigits(i); seen[id] == 0 {
				t.Errorf("%s does not have %s", rowsFile, id)
			}
		}
	}
}

func sameGroup(a, b string) bool {
	x, _, _ := strings.Cut(a, "-")
	y, _, _ := strings.Cut(b, "-")
	return x == y
}

// TestRowsAndTestsAgree: a row that code or a document names exists, and a test whose comment claims a row is among the
// proofs of that row.
func TestRowsAndTestsAgree(t *testing.T) {
	t.Parallel()
	_, says := rowsTable(t)
	eachFile(t, func(file string, content []byte) {
		if ext := path.Ext(file); ext != ".go" && ext != ".md" {
			return
		}
		for _, id := range cited(string(content)) {
			if !knownRow(id) {
				t.Errorf("%s names %s, which there is not", file, id)
			}
		}
	})
	for _, pkg := range []string{"client", "wire", "remote"} {
		for name, doc := range goTests(t)[pkg] {
			for _, id := range cited(doc) {
				if !strings.Contains(says[id], "`"+pkg+"."+name+"`") {
					t.Errorf("%s.%s claims %s; %s does not name it there", pkg, name, id, rowsFile)
				}
			}
		}
	}
}

var (
	reservedCode = regexp.MustCompile(`-32\d{3}\b`)
	// reservedCodes are those with a meaning that all sides agree on. Of them the client itself answers with -32601,
	// -32602 and -32603 only, and to legacy servers only; the others it knows when a server uses them.
	reservedCodes = []string{"-32601", "-32602", "-32603", "-32020", "-32021", "-32022", "-32002"}
)

// TestErrorCodesAreAgreedOn is BASE-13, BASE-14 and BASE-16: no code of the reserved ranges is made up.
func TestErrorCodesAreAgreedOn(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"client", "internal/wire", "internal/remote"} {
		files, err := fs.Glob(os.DirFS(filepath.Join(root(t), dir)), "*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), dir, file), nil, 0)
			if err != nil {
				t.Errorf("%s/%s: %v", dir, file, err)
				continue
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				var text string
				switch n := n.(type) {
				case *ast.UnaryExpr:
					if lit, ok := n.X.(*ast.BasicLit); ok && n.Op == token.SUB {
						text = "-" + lit.Value
					}
				case *ast.BasicLit:
					text = n.Value // codes inside messages that are written by hand
				}
				for _, code := range reservedCode.FindAllString(text, -1) {
					if !slices.Contains(reservedCodes, code) {
						t.Errorf("%s/%s uses the code %s", dir, file, code)
					}
				}
				return true
			})
		}
	}
}

// TestDocumentedDialects is BASE-30: the dialects in docs/protocol.md are those that are judged by, and each of them is.
func TestDocumentedDialects(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(root(t), "docs/protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (\\S+) \\| .*`(https?://json-schema[^`]+)` \\|$").FindAllSubmatch(content, -1)
	if len(rows) == 0 {
		t.Fatal("docs/protocol.md names no dialect")
	}
	var known []string
	for _, row := range rows {
		if _, err := schema.Compile([]byte(`{"$schema":"` + string(row[2]) + `","type":"object"}`)); err != nil {
			t.Errorf("%s: %v", row[2], err)
		}
		known = append(known, string(row[1]))
	}
	_, err = schema.Compile([]byte(`{"$schema":"https://json-schema.org/draft/2019-09/schema"}`))
	if err == nil || !strings.Contains(err.Error(), strings.Join(known, " and ")+" are") {
		t.Errorf("the refusal of another dialect is %v; the document names %v", err, known)
	}
}
