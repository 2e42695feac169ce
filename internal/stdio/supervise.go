package stdio

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

const (
	// reapLimit is how long a killed process may take to disappear.
	reapLimit = 500 * time.Millisecond
	// leftoverGrace is how long descendants may outlive the process that was started: enough for a shell's last child to
	// notice the end, short enough that no one waits for a helper that means to stay.
	leftoverGrace = 300 * time.Millisecond
	// leftoverTerm is how long they may take to obey SIGTERM.
	leftoverTerm = time.Second
	// scanEvery is the pause between two looks at the process table.
	scanEvery = 20 * time.Millisecond
)

// supervise owns the process from start to end: it waits for the exit or for Close or Kill, ends what is left, and closes
// p.done.
func (p *Process) supervise(ctx context.Context) {
	var plan schedule
	select {
	case <-p.exited:
		plan = p.leftoverSchedule(schedule{}, time.Now())
	case plan = <-p.closing:
	case <-p.killing:
		plan = p.killSchedule(time.Now())
	}
	p.family.remember()
	_ = p.Stdin.Close() // the request to leave; an error means that it is closed already
	p.end(ctx, &plan)
	// A process in an uninterruptible wait in the kernel is the one case that stays here; Close reports it and returns.
	<-p.exited
	p.finish(ctx, plan)
}

// end makes the process and its descendants go, by asking, SIGTERM and SIGKILL in turn as plan says.
func (p *Process) end(ctx context.Context, plan *schedule) {
	if p.awaitGone(plan, func() time.Time { return plan.terminate }) {
		return
	}
	if plan.kill.After(plan.terminate) {
		p.force("terminate", p.family.terminate)
		p.box.stop(ctx, plan.kill)
		if p.awaitGone(plan, func() time.Time { return plan.kill }) {
			return
		}
	}
	p.force("kill", p.family.kill)
	for {
		// Something may have been forked while its parent was killed. Killing again is cheap.
		retry := time.Now().Add(5 * scanEvery)
		if p.awaitGone(plan, func() time.Time { return earlier(retry, plan.giveUp) }) || !time.Now().Before(plan.giveUp) {
			return
		}
		p.family.kill()
	}
}

// killSchedule leaves time for nothing but the end itself, and for stopping a container.
func (p *Process) killSchedule(now time.Time) schedule {
	limit := reapLimit
	if p.box != nil {
		limit = containerLimit
	}
	return schedule{now, now, now.Add(limit)}
}

// leftoverSchedule shortens plan for descendants, once the started process has ended at now.
func (p *Process) leftoverSchedule(plan schedule, now time.Time) schedule {
	s := schedule{now.Add(leftoverGrace), now.Add(leftoverGrace + leftoverTerm), now.Add(leftoverGrace + leftoverTerm + reapLimit)}
	if !plan.giveUp.IsZero() {
		s = schedule{earlier(s.terminate, plan.terminate), earlier(s.kill, plan.kill), earlier(s.giveUp, plan.giveUp)}
	}
	return s
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// awaitGone waits until the process and its descendants are gone (true), or until the moment given by until, which is
// asked again after plan has changed. A Kill makes every moment now.
func (p *Process) awaitGone(plan *schedule, until func() time.Time) bool {
	exited, killing, closing := p.exited, p.killing, p.closing
	if plan.kill.Equal(plan.terminate) {
		killing = nil // already obeyed
	}
	timer := time.NewTimer(time.Until(until()))
	defer timer.Stop()
	for {
		select {
		case <-p.exited:
			if exited != nil {
				exited = nil
				*plan = p.leftoverSchedule(*plan, time.Now())
			}
			if len(p.family.survivors()) == 0 {
				return true
			}
			if !time.Now().Before(until()) {
				return false
			}
			timer.Reset(min(scanEvery, time.Until(until())))
		default:
		}
		select {
		case <-exited:
		case s := <-closing: // Close came while leftovers were being ended: its bound counts too
			*plan = schedule{earlier(s.terminate, plan.terminate), earlier(s.kill, plan.kill), earlier(s.giveUp, plan.giveUp)}
			timer.Reset(max(time.Until(until()), 0))
		case <-killing:
			killing = nil
			now := time.Now()
			*plan = p.killSchedule(now)
			if !until().After(now) {
				return false
			}
			timer.Reset(time.Until(until()))
		case <-timer.C:
			if exited != nil || !time.Now().Before(until()) {
				return false
			}
		}
	}
}

// force signals the family and keeps account of what that was needed for.
func (p *Process) force(name string, signal func()) {
	p.ending.Signal = name
	select {
	case <-p.exited:
		for _, pid := range p.family.survivors() {
			if !slices.Contains(p.ending.Leftovers, pid) {
				p.ending.Leftovers = append(p.ending.Leftovers, pid)
			}
		}
	default:
	}
	signal()
}

// finish collects the exit status and publishes the end. The started process is reaped only here: until then its pid, and
// so the number of its group, cannot be given to another process.
func (p *Process) finish(ctx context.Context, plan schedule) {
	p.ending.Survivors = p.family.survivors()
	p.box.stop(ctx, plan.giveUp)
	p.box.discard()
	p.status = reap(p.cmd)
	p.ending.Status = p.status
	p.family.release()

	// With all writers gone stderr ends by itself. An escaped descendant must not be able to hold it open.
	drain := time.NewTimer(drainLimit)
	defer drain.Stop()
	select {
	case <-p.drained:
	case <-drain.C:
		_ = p.stderr.SetReadDeadline(time.Now()) // fails only when closed, and then the reader has ended
		<-p.drained
	}
	if p.ledger != nil && len(p.ending.Survivors) == 0 {
		if err := p.ledger.remove(p.family); err != nil {
			p.logger.Warn("process record not removed", slog.Int("pid", p.PID()), slog.Any("error", err))
		}
	}
	if p.ending.Signal != "" || len(p.ending.Survivors) > 0 {
		p.logger.Warn("server process had to be ended by force",
			slog.Int("pid", p.PID()), slog.String("signal", p.ending.Signal),
			slog.Any("leftovers", p.ending.Leftovers), slog.Any("survivors", p.ending.Survivors))
	}
	close(p.done)
}

// drainLimit is how long the end of stderr is waited for after the last known process is gone.
const drainLimit = 250 * time.Millisecond
