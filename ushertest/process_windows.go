package ushertest

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// lock takes file for this process by opening it without sharing.
func lock(file string) (release func(), err error) {
	name, err := syscall.UTF16PtrFromString(file)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, err
	}
	return func() { _ = syscall.CloseHandle(h) }, nil
}

// watchSignals logs interrupts, the one signal there is.
func watchSignals(opts *options, log *recorder) (stop func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig := range signals {
			log.add(Record{Event: "signal", Text: sig.String()})
			if !opts.ignoreTerm {
				os.Exit(1) //nolint:forbidigo // what the signal does without us
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}

func startChild(bool) (pid int, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(program) //nolint:noctx // it is meant to outlive us
	cmd.Env = append(os.Environ(), roleVar+"=child")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

func childMain() int {
	signal.Ignore(os.Interrupt)
	<-time.After(childLimit)
	return 0
}
