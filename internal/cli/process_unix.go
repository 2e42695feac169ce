//go:build unix

package cli

import (
	"errors"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// endings are the signals that ask the program to end.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }

// notifyBrokenPipe makes a write to a pipe without a reader fail instead of killing the program. The signal is caught
// rather than ignored, because started programs inherit what is ignored.
func notifyBrokenPipe(c chan<- os.Signal) { signal.Notify(c, syscall.SIGPIPE) }

// isBrokenPipe reports whether a write failed because nobody reads any more.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// keepDescriptors keeps what this program has inherited beside its three streams from the servers it starts.
func keepDescriptors() {
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // then it is not known what there is
	}
	for _, name := range names {
		if n, err := strconv.Atoi(name.Name()); err == nil && n > 2 {
			syscall.CloseOnExec(n)
		}
	}
}
