package stdio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// statFunc is os.Stat, replaceable so that the Windows rules can be tested on every system.
type statFunc func(string) (fs.FileInfo, error)

// errNotExecutable says that a file was found but none that may be run.
var errNotExecutable = errors.New("not an executable file")

// lookUnix finds command for a child that will run in dir with the given PATH. A command with a slash is taken as a path,
// relative to dir; anything else is searched. Relative PATH entries are skipped: they would make a start depend on where
// the host happens to run, and let a project directory supply commands.
func lookUnix(command, dir, path string, stat statFunc) (file string, searched []string, err error) {
	executable := func(file string) error {
		info, err := stat(file)
		switch {
		case err != nil:
			return err
		case info.IsDir(), info.Mode()&0o111 == 0:
			return errNotExecutable
		}
		return nil
	}
	if strings.Contains(command, "/") {
		file = command
		if !strings.HasPrefix(file, "/") {
			file = strings.TrimSuffix(dir, "/") + "/" + file
		}
		if err := executable(file); err != nil {
			return file, nil, err
		}
		return filepath.Clean(file), nil, nil
	}
	var unusable string
	for d := range strings.SplitSeq(path, ":") {
		if !strings.HasPrefix(d, "/") {
			continue
		}
		searched = append(searched, d)
		file := strings.TrimSuffix(d, "/") + "/" + command
		switch err := executable(file); {
		case err == nil:
			return file, searched, nil
		case unusable == "" && (errors.Is(err, errNotExecutable) || errors.Is(err, fs.ErrPermission)):
			unusable = file
		}
	}
	if unusable != "" {
		return unusable, searched, errNotExecutable
	}
	return "", searched, fs.ErrNotExist
}

// lookWindows finds command by the rules of Windows: names without a known extension are tried with each of PATHEXT, in
// every absolute directory of PATH. The current directory is not searched.
func lookWindows(command, dir, path, pathext string, stat statFunc) (file string, searched []string, err error) {
	extensions := windowsExtensions(pathext)
	try := func(base string) (string, bool) {
		candidates := make([]string, 0, len(extensions)+1)
		if hasExtension(base, extensions) {
			candidates = append(candidates, base)
		}
		for _, ext := range extensions {
			candidates = append(candidates, base+ext)
		}
		for _, c := range candidates {
			if info, err := stat(c); err == nil && !info.IsDir() {
				return c, true
			}
		}
		return "", false
	}
	if strings.ContainsAny(command, `\/:`) {
		base := strings.ReplaceAll(command, "/", `\`)
		if !windowsAbs(base) {
			base = strings.TrimSuffix(dir, `\`) + `\` + strings.TrimPrefix(base, `\`)
		}
		if file, ok := try(base); ok {
			return file, nil, nil
		}
		if info, err := stat(base); err == nil && !info.IsDir() {
			return base, nil, errNotExecutable
		}
		return base, nil, fs.ErrNotExist
	}
	for d := range strings.SplitSeq(path, ";") {
		d = strings.Trim(d, `"`)
		if !windowsAbs(d) {
			continue
		}
		searched = append(searched, d)
		if file, ok := try(strings.TrimSuffix(d, `\`) + `\` + command); ok {
			return file, searched, nil
		}
	}
	return "", searched, fs.ErrNotExist
}

func windowsExtensions(pathext string) []string {
	var out []string
	for ext := range strings.SplitSeq(pathext, ";") {
		if ext = strings.TrimSpace(ext); ext == "" {
			continue
		}
		if !strings.HasPrefix(ext, ".") {
			ext = "." + ext
		}
		out = append(out, strings.ToLower(ext))
	}
	if len(out) == 0 {
		return []string{".com", ".exe", ".bat", ".cmd"}
	}
	return out
}

func hasExtension(file string, extensions []string) bool {
	name := file[strings.LastIndexAny(file, `\/:`)+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	for _, ext := range extensions {
		if strings.EqualFold(name[dot:], ext) {
			return true
		}
	}
	return false
}

// windowsAbs accepts `C:\x` and `\\host\share`.
func windowsAbs(p string) bool {
	if strings.HasPrefix(p, `\\`) {
		return true
	}
	return len(p) >= 3 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') &&
		('a' <= p[0]|0x20 && p[0]|0x20 <= 'z')
}

// isBatch reports whether file is a script that only the command interpreter can run, as npx.cmd is.
func isBatch(file string) bool {
	return hasExtension(file, []string{".bat", ".cmd"})
}

// errBatchArgument: a batch script's arguments pass through the command interpreter, which ends a command at these.
var errBatchArgument = errors.New("an argument of a .cmd or .bat command holds a line break or NUL")

// batchCommandLine builds the whole command line that runs a batch script with args through the command interpreter, each
// argument reaching the script as one, and none of them able to run anything. The interpreter strips the outermost quotes
// (/s), takes no startup commands (/d) and expands no !x! (/v:off); %x% it would expand even inside quotes, so every
// percent sign is followed by an expansion that is always empty.
func batchCommandLine(interpreter, script string, args []string) (string, error) {
	if strings.ContainsAny(script, "\"%\r\n\x00") {
		return "", errBatchArgument
	}
	var b strings.Builder
	b.WriteString(`"` + interpreter + `" /e:on /v:off /d /s /c ""` + script + `"`)
	for _, arg := range args {
		if strings.ContainsAny(arg, "\r\n\x00") {
			return "", errBatchArgument
		}
		b.WriteString(` "`)
		slashes := 0
		for _, c := range arg {
			switch c {
			case '\\':
				slashes++
			case '"':
				// The program behind the script splits its command line again: a quote is doubled, and the backslashes
				// before it as well, or they would escape it.
				b.WriteString(strings.Repeat(`\`, slashes))
				b.WriteByte('"')
				slashes = 0
			case '%':
				b.WriteString(`%%cd:~,`)
				slashes = 0
			default:
				slashes = 0
			}
			b.WriteRune(c)
		}
		b.WriteString(strings.Repeat(`\`, slashes))
		b.WriteByte('"')
	}
	b.WriteByte('"')
	return b.String(), nil
}

// workingDirectory checks dir, or gives the host's own when it is empty.
func workingDirectory(dir string) (string, error) {
	if dir == "" {
		return os.Getwd()
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", errors.New("not a directory")
	}
	return filepath.Abs(dir)
}
