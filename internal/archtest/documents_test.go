package archtest_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines is the length at which a file has to be split. Most should be well under 400.
const maxLines = 700

// sources are the kinds of files people write by hand here.
var sources = []string{".css", ".go", ".html", ".js", ".mjs", ".sh", ".sql", ".ts", ".tsx"}

// eachFile calls f with every file below the root that people write: no dependencies, no build output.
func eachFile(t *testing.T, f func(path string, content []byte)) {
	t.Helper()
	base := root(t)
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(base, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			skip := rel != "." && strings.HasPrefix(d.Name(), ".") && rel != ".ci"
			if skip || slices.Contains([]string{"bin", "node_modules", "test-results", "playwright-report"}, d.Name()) || rel == filepath.Join("web", "dist") {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil // an editor's temporary file
		}
		if err != nil {
			return err
		}
		f(filepath.ToSlash(rel), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var generated = regexp.MustCompile(`(?m)^(//|/\*|<!--) ?Code generated .* DO NOT EDIT`)

func TestFilesStayShort(t *testing.T) {
	t.Parallel()
	eachFile(t, func(path string, content []byte) {
		if !slices.Contains(sources, filepath.Ext(path)) || generated.Match(content) {
			return
		}
		if n := bytes.Count(content, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines: split it by what its parts do (limit %d)", path, n, maxLines)
		}
	})
}

// link matches an inline Markdown link or image and takes its target.
var link = regexp.MustCompile(`\]\(<?([^)>\s]+)>?(?: "[^"]*")?\)`)

// fence matches fenced code blocks, whose brackets are not links.
var fence = regexp.MustCompile("(?ms)^ *```.*?^ *```")

func TestDocumentLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	base := root(t)
	eachFile(t, func(path string, content []byte) {
		if filepath.Ext(path) != ".md" {
			return
		}
		for _, m := range link.FindAllSubmatch(fence.ReplaceAll(content, nil), -1) {
			target := string(m[1])
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			to := filepath.Join(base, filepath.Dir(path), file)
			if file == "" {
				to = filepath.Join(base, path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", path, target)
				continue
			}
			if anchor != "" && filepath.Ext(to) == ".md" && !slices.Contains(anchors(t, to), anchor) {
				t.Errorf("%s links to %s, which has no such heading", path, target)
			}
		}
	})
}

var (
	heading     = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// anchors lists the fragment names that a Markdown file's headings get where it is usually read.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range heading.FindAllSubmatch(fence.ReplaceAll(content, nil), -1) {
		name := notInAnchor.ReplaceAllString(strings.ToLower(string(m[1])), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

var (
	makeTarget = regexp.MustCompile("`make ([a-z][a-z0-9-]*)")
	makeRule   = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
)

func TestDocumentsNameRealMakeTargets(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, m := range makeRule.FindAllSubmatch(content, -1) {
		rules = append(rules, string(m[1]))
	}
	if len(rules) == 0 {
		t.Fatal("the Makefile has no rule that this test can read")
	}
	eachFile(t, func(path string, content []byte) {
		if filepath.Ext(path) != ".md" {
			return
		}
		for _, m := range makeTarget.FindAllSubmatch(content, -1) {
			if !slices.Contains(rules, string(m[1])) {
				t.Errorf("%s names `make %s`, which the Makefile does not have", path, m[1])
			}
		}
	})
}
