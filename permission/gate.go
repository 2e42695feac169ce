package permission

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Answer is what a person says when asked whether a tool may run.
type Answer string

// The answers. Always is bound to the tool's definition and the server's configuration, and so is Session.
const (
	Once    Answer = "once"
	Session Answer = "session"
	Always  Answer = "always"
	No      Answer = "no"
)

// ParseAnswer reads an answer by its name.
func ParseAnswer(name string) (Answer, error) {
	switch a := Answer(name); a {
	case Once, Session, Always, No:
		return a, nil
	}
	return "", fmt.Errorf("answer %.40q is unknown; the answers are %s, %s, %s and %s", name, Once, Session, Always, No)
}

// MaxSessionGrants bounds what one session remembers; the oldest answers are forgotten first, which asks again.
const MaxSessionGrants = 1000

// Request is a call that wants to run.
type Request struct {
	// Owner is the session the call belongs to. Answers for a session hold for calls of the same owner; without an
	// owner they hold for the one call.
	Owner string
	// Mode, when not empty, replaces the policy's for this call: sessions may have a mode of their own.
	Mode   Mode
	Server Server
	Tool   Definition
}

// Gate decides about calls and remembers answers. It is safe for concurrent use.
type Gate struct {
	store Store
	now   func() time.Time

	mu       sync.Mutex
	policy   Policy
	sessions map[string]*answers
}

// answers are those of one session, with their keys from the oldest to the newest.
type answers struct {
	grants map[key]Grant
	order  []key
}

// GateOptions are the options of a [Gate].
type GateOptions struct {
	Policy Policy
	// Store keeps what is allowed for good. Nil keeps it in memory.
	Store Store
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// NewGate returns a gate. It keeps nothing open.
func NewGate(o GateOptions) *Gate {
	g := &Gate{store: o.Store, now: o.Now, sessions: map[string]*answers{}}
	g.SetPolicy(o.Policy)
	if g.store == nil {
		g.store = NewMemoryStore()
	}
	if g.now == nil {
		g.now = time.Now
	}
	return g
}

// SetPolicy replaces the policy from the next decision on, as when the configuration was changed. What was answered
// stays.
func (g *Gate) SetPolicy(p Policy) {
	p.Deny, p.Allow = slices.Clone(p.Deny), slices.Clone(p.Allow)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.policy = p
}

// Decide decides about a call. A store that cannot be read costs what it remembers and nothing else: the decision
// stands, at worst a question too many, and the error tells why.
func (g *Gate) Decide(ctx context.Context, r Request) (Decision, error) {
	var memory Memory
	k := key{r.Server.Name, r.Tool.Name}
	g.mu.Lock()
	p := g.policy
	if s := g.sessions[r.Owner]; s != nil {
		if grant, ok := s.grants[k]; ok {
			memory.Session = &grant
		}
	}
	g.mu.Unlock()
	if r.Mode != "" {
		p.Mode = r.Mode
	}
	d := p.Decide(r.Server, r.Tool, memory)
	if d.Verdict != Asked {
		return d, nil
	}
	grant, ok, err := g.store.Grant(ctx, r.Server.Name, r.Tool.Name)
	if err != nil {
		return d, fmt.Errorf("reading what was allowed before: %w", err)
	}
	if ok {
		memory.Always = &grant
	}
	return p.Decide(r.Server, r.Tool, memory), nil
}

// Answer takes in what the person said about a request, which must be the one they were shown: the answer holds for
// that definition of the tool, not for one that came meanwhile. It returns whether the call may run. An Always that
// cannot be stored holds for the session, and the error says why.
func (g *Gate) Answer(ctx context.Context, r Request, a Answer) (allowed bool, err error) {
	switch a {
	case No:
		return false, nil
	case Once:
		return true, nil
	case Session:
		g.remember(r.Owner, g.grant(r))
		return true, nil
	case Always:
		grant := g.grant(r)
		if err := g.store.Remember(ctx, grant); err != nil {
			g.remember(r.Owner, grant)
			return true, fmt.Errorf("remembering that %q of server %q is allowed: %w", r.Tool.Name, r.Server.Name, err)
		}
		return true, nil
	}
	return false, fmt.Errorf("answer %.40q is unknown", string(a))
}

// End forgets what was answered for a session.
func (g *Gate) End(owner string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.sessions, owner)
}

func (g *Gate) grant(r Request) Grant {
	return NewGrant(r.Server, r.Tool, g.now())
}

func (g *Gate) remember(owner string, grant Grant) {
	if owner == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sessions[owner]
	if s == nil {
		s = &answers{grants: map[key]Grant{}}
		g.sessions[owner] = s
	}
	k := key{grant.Server, grant.Tool}
	if _, known := s.grants[k]; !known {
		if len(s.order) >= MaxSessionGrants {
			delete(s.grants, s.order[0])
			s.order = append(s.order[:0], s.order[1:]...)
		}
		s.order = append(s.order, k)
	}
	s.grants[k] = grant
}
