//go:build unix

package ushertest

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// lock takes file for this process; the system gives it back when the process ends, however it ends.
func lock(file string) (release func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// watchSignals logs signals. SIGTERM then ends the process as it would have without us, unless it is to be ignored.
func watchSignals(opts *options, log *recorder) (stop func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig := range signals {
			log.add(Record{Event: "signal", Text: sig.String()})
			if opts.ignoreTerm {
				continue
			}
			signal.Reset(sig)
			if s, ok := sig.(syscall.Signal); ok {
				_ = syscall.Kill(os.Getpid(), s)
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}

// startChild starts a process that holds on to our output and outlives us.
func startChild(setsid bool) (pid int, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	ready, theirs, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer func() { _ = ready.Close() }()
	cmd := exec.Command(program) //nolint:noctx // it is meant to outlive us
	cmd.Env = append(os.Environ(), roleVar+"=child")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return 0, err
	}
	_, _ = ready.Read(make([]byte, 1)) // it ignores signals from now on
	return cmd.Process.Pid, nil
}

func childMain() int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	_ = os.NewFile(3, "ready").Close()
	<-time.After(childLimit)
	return 0
}
