package client

import (
	"container/list"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	maxTTL          = 24 * time.Hour
	maxCacheEntries = 512
	maxCacheBytes   = 64 << 20

	readPrefix = "resources/read "
)

// cache keeps what a modern server allows to keep, for one session and so for one principal (M12). A key is a method,
// for reads with the URI. Values are not to be changed. It is bounded by entries and bytes; the one unused for
// longest goes.
type cache struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[string]*list.Element
	order   *list.List // of *cacheEntry, the most recently used first
	bytes   int
	// generations counts invalidations, so that a fetch that began before one is not kept after it (CACHE-14).
	generations map[string]uint64
	reads       uint64
	claims      map[string]chan struct{}
}

type cacheEntry struct {
	key      string
	value    any
	bytes    int
	received time.Time
	ttl      time.Duration
}

func newCache() *cache {
	return &cache{
		now:         time.Now,
		entries:     make(map[string]*list.Element),
		order:       list.New(),
		generations: make(map[string]uint64),
		claims:      make(map[string]chan struct{}),
	}
}

// claim makes its caller the only one to fetch key until release. It fails when ctx ends first.
func (c *cache) claim(ctx context.Context, key string) (release func(), err error) {
	for {
		c.mu.Lock()
		busy := c.claims[key]
		if busy == nil {
			mine := make(chan struct{})
			c.claims[key] = mine
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.claims, key)
				close(mine)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, fmt.Errorf("request given up: %w", context.Cause(ctx))
		}
	}
}

// get returns the value of key while it is fresh. Age is measured by the monotonic and by the wall clock, because the
// first may stand still while the machine sleeps (CACHE-04).
func (c *cache) get(key string) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	e := el.Value.(*cacheEntry) //nolint:forcetypeassert // nothing else is in the list
	now := c.now()
	if now.Sub(e.received) >= e.ttl || now.Round(0).Sub(e.received.Round(0)) >= e.ttl {
		c.remove(el)
		return nil, false
	}
	c.order.MoveToFront(el)
	return e.value, true
}

// generation is to be read before a fetch and given to put after it.
func (c *cache) generation(key string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generationLocked(key)
}

func (c *cache) generationLocked(key string) uint64 {
	if strings.HasPrefix(key, readPrefix) {
		return c.reads
	}
	return c.generations[key]
}

// put keeps value for ttl from received on, unless key was invalidated since generation was read. A ttl of 0 keeps
// nothing.
func (c *cache) put(key string, generation uint64, value any, bytes int, ttl time.Duration, received time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ttl <= 0 || bytes > maxCacheBytes/4 || c.generationLocked(key) != generation {
		return
	}
	if el, ok := c.entries[key]; ok {
		c.remove(el)
	}
	e := &cacheEntry{key: key, value: value, bytes: bytes + len(key), received: received, ttl: min(ttl, maxTTL)}
	c.entries[key] = c.order.PushFront(e)
	c.bytes += e.bytes
	for len(c.entries) > maxCacheEntries || c.bytes > maxCacheBytes {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(el *list.Element) {
	e := c.order.Remove(el).(*cacheEntry) //nolint:forcetypeassert // nothing else is in the list
	delete(c.entries, e.key)
	c.bytes -= e.bytes
}

// invalidate drops a list.
func (c *cache) invalidate(methods ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range methods {
		c.generations[m]++
		if el, ok := c.entries[m]; ok {
			c.remove(el)
		}
	}
}

// invalidateReads drops the reads for which drop says so.
func (c *cache) invalidateReads(drop func(uri string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	for key, el := range c.entries {
		if uri, ok := strings.CutPrefix(key, readPrefix); ok && drop(uri) {
			c.remove(el)
		}
	}
}
