package stdio

import (
	"fmt"
	"os"
	"strings"
)

// Reason classifies a StartError.
type Reason string

// The reasons a process did not start.
const (
	ReasonNotFound      Reason = "not_found"      // no such command
	ReasonNotExecutable Reason = "not_executable" // the file is there but may not or cannot be run
	ReasonInterpreter   Reason = "interpreter"    // the script's interpreter is missing
	ReasonDirectory     Reason = "directory"      // the working directory is missing or not a directory
	ReasonArguments     Reason = "arguments"      // an argument or variable that cannot be passed on
	ReasonSystem        Reason = "system"         // the system refused: descriptors, memory, process limits
)

// StartError says why a server process did not start. It names the command, never arguments or variables, which may hold
// secrets.
type StartError struct {
	// Command is the command as configured.
	Command string
	// Path is the file that was tried; empty when none was found.
	Path   string
	Dir    string // the configured working directory
	Reason Reason
	// Searched are the directories looked in for a bare command name, in order.
	Searched []string
	// Hint is the next step for the person.
	Hint string
	Err  error
}

func (e *StartError) Error() string {
	switch e.Reason {
	case ReasonNotFound:
		if len(e.Searched) > 0 {
			return fmt.Sprintf("start %q: no such command in %s", e.Command, strings.Join(e.Searched, string(os.PathListSeparator)))
		}
		return fmt.Sprintf("start %q: no such command", e.Command)
	case ReasonDirectory:
		if e.Dir == "" {
			return fmt.Sprintf("start %q: the current directory: %v", e.Command, e.Err)
		}
		return fmt.Sprintf("start %q: working directory %q: %v", e.Command, e.Dir, e.Err)
	case ReasonNotExecutable:
		return fmt.Sprintf("start %q: %s cannot be executed: %v", e.Command, e.Path, e.Err)
	case ReasonInterpreter:
		return fmt.Sprintf("start %q: the interpreter named in the first line of %s is missing", e.Command, e.Path)
	default:
		return fmt.Sprintf("start %q: %v", e.Command, e.Err)
	}
}

func (e *StartError) Unwrap() error { return e.Err }
