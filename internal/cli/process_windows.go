package cli

import (
	"errors"
	"os"
	"syscall"
)

// endings are the signals that ask the program to end.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// notifyBrokenPipe has nothing to do: there is no such signal.
func notifyBrokenPipe(chan<- os.Signal) {}

// isBrokenPipe reports whether a write failed because nobody reads any more.
func isBrokenPipe(err error) bool {
	const noData = syscall.Errno(232) // ERROR_NO_DATA: the pipe is being closed
	return errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, noData)
}

// keepDescriptors has nothing to do: handles are inherited only when they are listed.
func keepDescriptors() {}
