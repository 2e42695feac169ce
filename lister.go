package usher

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/usher-mcp/usher/client"
)

// The kinds of lists, as list_changed notifications name them; templates come and change with resources.
const (
	kindTools     = "tools"
	kindPrompts   = "prompts"
	kindResources = "resources"
)

// listChangedPause gathers a burst of list_changed notifications into one new list.
const listChangedPause = 50 * time.Millisecond

// lister reads the lists of one session, each kind on its own: a list that is slow, or never comes, delays no
// other. It belongs to the server's run loop; only want and the readers it starts run elsewhere.
type lister struct {
	s       *server
	sess    *client.Session
	results chan listing
	readers sync.WaitGroup
	stop    context.CancelFunc
	ctx     context.Context //nolint:containedctx // the life of the readers, which stop ends.

	mu      sync.Mutex
	reading map[string]bool
	again   map[string]bool // a change was announced while the list was being read

	// Of the run loop alone.
	snap snapshot
	read map[string]bool // the kinds that were read, or failed, at least once
}

// listing is one list that was read.
type listing struct {
	kind  string
	apply func(*snapshot)
	err   error
}

// newLister starts to read every list.
func newLister(ctx context.Context, s *server, sess *client.Session) *lister {
	l := &lister{
		s: s, sess: sess,
		results: make(chan listing),
		reading: make(map[string]bool), again: make(map[string]bool), read: make(map[string]bool),
	}
	// What an earlier session offered stands until this one has answered.
	s.mu.Lock()
	l.snap = s.snap
	s.mu.Unlock()
	l.ctx, l.stop = context.WithCancel(ctx)
	for _, kind := range []string{kindTools, kindPrompts, kindResources} {
		l.start(kind, 0)
	}
	return l
}

// close ends the readers and waits for them.
func (l *lister) close() {
	l.stop()
	l.readers.Wait()
}

// changed reads a kind again, after a pause that gathers a burst. While it is being read the change is remembered,
// so that none is lost.
func (l *lister) changed(kind string) { l.start(kind, listChangedPause) }

func (l *lister) start(kind string, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reading[kind] {
		l.again[kind] = true
		return
	}
	l.reading[kind] = true
	l.readers.Go(func() {
		for {
			t := time.NewTimer(pause)
			select {
			case <-t.C:
			case <-l.ctx.Done():
				t.Stop()
				return
			}
			l.mu.Lock()
			l.again[kind] = false
			l.mu.Unlock()
			apply, err := l.load(kind)
			select {
			case l.results <- listing{kind, apply, err}:
			case <-l.ctx.Done():
				return
			}
			l.mu.Lock()
			again := l.again[kind]
			l.reading[kind] = again
			l.mu.Unlock()
			if !again {
				return
			}
			pause = listChangedPause
		}
	})
}

// take puts a list into the snapshot. The error is that of a first tools list: a server whose tools cannot be
// listed is not ready. Any other list that cannot be read is a warning, and the one that stands goes on standing.
func (l *lister) take(r listing) error {
	first := !l.read[r.kind]
	l.read[r.kind] = true
	if r.err != nil && r.kind == kindTools && first {
		return r.err
	}
	next := l.snap
	next.rejected, next.notes = cloneMap(l.snap.rejected), cloneMap(l.snap.notes)
	switch {
	case r.err == nil:
		r.apply(&next)
		sortSnapshot(&next)
	case first:
		next.notes[r.kind] = []string{r.err.Error()}
	default:
		next.notes[r.kind] = append(slices.Clone(next.notes[r.kind]), "the list changed and could not be read again: "+r.err.Error())
	}
	next.warnings = slices.Concat(next.notes[kindTools], next.notes[kindPrompts], next.notes[kindResources])
	l.snap = next
	return nil
}

// complete says whether every list was read, or failed, at least once.
func (l *lister) complete() bool {
	return l.read[kindTools] && l.read[kindPrompts] && l.read[kindResources]
}

// load reads one kind, with one request for each list and page (M10), and returns what it changes.
func (l *lister) load(kind string) (func(*snapshot), error) {
	name := l.s.spec.Name
	switch kind {
	case kindTools:
		list, err := l.sess.Tools(l.ctx)
		if err != nil {
			return nil, err
		}
		tools, hidden, notes := l.s.filterTools(list.Items, l.sess.Capabilities())
		return func(s *snapshot) {
			s.tools, s.hidden = tools, hidden
			s.rejected[kind], s.notes[kind] = list.Rejected, slices.Concat(list.Warnings, notes)
		}, nil
	case kindPrompts:
		list, err := l.sess.Prompts(l.ctx)
		if err != nil {
			return nil, err
		}
		return func(s *snapshot) {
			s.prompts = nil
			for _, p := range list.Items {
				s.prompts = append(s.prompts, Prompt{Server: name, Prompt: p})
			}
			s.rejected[kind], s.notes[kind] = list.Rejected, list.Warnings
		}, nil
	}
	var resources client.List[client.Resource]
	var templates client.List[client.ResourceTemplate]
	var resourcesErr, templatesErr error
	var g errgroup.Group
	g.Go(func() error { resources, resourcesErr = l.sess.Resources(l.ctx); return nil })
	g.Go(func() error { templates, templatesErr = l.sess.ResourceTemplates(l.ctx); return nil })
	_ = g.Wait() // either list may do without the other
	return func(s *snapshot) {
		s.resources, s.templates = nil, nil
		for _, r := range resources.Items {
			s.resources = append(s.resources, Resource{Server: name, Resource: r})
		}
		for _, t := range templates.Items {
			s.templates = append(s.templates, ResourceTemplate{Server: name, ResourceTemplate: t})
		}
		s.rejected[kind] = slices.Concat(resources.Rejected, templates.Rejected)
		s.notes[kind] = slices.Concat(optional(resources.Warnings, resourcesErr), optional(templates.Warnings, templatesErr))
	}, nil
}

// optional adds the failure of a list that a server may do without.
func optional(warnings []string, err error) []string {
	if err == nil {
		return warnings
	}
	return append(slices.Clone(warnings), err.Error())
}
