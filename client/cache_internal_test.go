package client

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// clockedCache is a cache whose time the test sets.
func clockedCache() (c *cache, now *time.Time) {
	c, now = newCache(), new(time.Time)
	*now = time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	c.now = func() time.Time { return *now }
	return c, now
}

func TestCacheFreshness(t *testing.T) {
	c, now := clockedCache()
	c.put("tools/list", c.generation("tools/list"), "v", 1, time.Minute, *now)
	*now = now.Add(time.Minute - 1)
	if v, ok := c.get("tools/list"); !ok || v != "v" {
		t.Error("stale before its time")
	}
	*now = now.Add(1)
	if _, ok := c.get("tools/list"); ok {
		t.Error("fresh after its time")
	}
	c.put("tools/list", c.generation("tools/list"), "v", 1, 0, *now)
	if _, ok := c.get("tools/list"); ok {
		t.Error("a ttl of 0 was kept")
	}
}

// TestCacheInvalidationDuringFetch: what was fetched before a change was announced is not kept after it (CACHE-14).
func TestCacheInvalidationDuringFetch(t *testing.T) {
	c, now := clockedCache()
	list, read := c.generation("tools/list"), c.generation(readPrefix+"a://b")
	c.invalidate("tools/list")
	c.invalidateReads(func(string) bool { return false })
	c.put("tools/list", list, "old", 1, time.Minute, *now)
	c.put(readPrefix+"a://b", read, "old", 1, time.Minute, *now)
	for _, key := range []string{"tools/list", readPrefix + "a://b"} {
		if _, ok := c.get(key); ok {
			t.Errorf("%s was kept", key)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	c, now := clockedCache()
	key := func(i int) string { return fmt.Sprint(readPrefix, i) }
	put := func(i, size int) { c.put(key(i), c.generation(key(i)), i, size, time.Hour, *now) }
	for i := range 2 * maxCacheEntries {
		put(i, 1)
		if _, ok := c.get(key(0)); i < maxCacheEntries && !ok { // used, so never the oldest
			t.Fatalf("entry 0 went at %d", i)
		}
	}
	if len(c.entries) != maxCacheEntries || c.order.Len() != maxCacheEntries {
		t.Errorf("%d entries", len(c.entries))
	}
	for i := range 100 {
		put(i, maxCacheBytes/8)
		if c.bytes > maxCacheBytes {
			t.Fatalf("%d bytes", c.bytes)
		}
	}
	put(7, maxCacheBytes) // one that would push out everything else is not kept
	if _, ok := c.get(key(99)); !ok {
		t.Error("a giant pushed out the others")
	}
	c.invalidateReads(func(uri string) bool { return !strings.HasPrefix(uri, "9") })
	if _, ok := c.get(key(99)); !ok {
		t.Error("a read that was not meant went")
	}
	if _, ok := c.get(key(98)); !ok {
		t.Error("a read that was not meant went")
	}
}
