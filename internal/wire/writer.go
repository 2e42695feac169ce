package wire

import "sync/atomic"

const (
	batchSize  = 32 << 10
	keepBuffer = 1 << 20
)

// outgoing is one frame on its way, with its line end.
type outgoing struct {
	data  []byte
	state atomic.Int32
}

const (
	stateQueued int32 = iota
	stateTaken
	stateWithdrawn
)

// withdraw takes a frame back that the writer has not taken; it reports whether that succeeded.
func (o *outgoing) withdraw() bool { return o.state.CompareAndSwap(stateQueued, stateWithdrawn) }

// write is the one goroutine that writes. Frames that wait together go out together.
func (c *Conn) write() {
	defer close(c.flushed)
	defer c.closeWriter.Do(func() { _ = c.cfg.Writer.Close() })
	var buf []byte
	for {
		select {
		case o := <-c.out:
			buf = c.load(buf[:0], o)
		case o := <-c.control:
			buf = c.load(buf[:0], o)
		case <-c.life.Done():
			c.flush(buf[:0])
			return
		}
		buf = c.more(buf)
		if _, err := c.cfg.Writer.Write(buf); err != nil {
			c.end(err)
			return
		}
		if cap(buf) > keepBuffer {
			buf = nil
		}
	}
}

// flush writes what is left when the connection was stopped on this side, so that cancellations reach the server.
// Nothing is queued any more, so that it ends.
func (c *Conn) flush(buf []byte) {
	for {
		buf = c.more(buf[:0])
		if len(buf) == 0 {
			return
		}
		if _, err := c.cfg.Writer.Write(buf); err != nil {
			return // nobody is left to be told
		}
	}
}

// more adds what waits already.
func (c *Conn) more(buf []byte) []byte {
	for len(buf) < batchSize {
		select {
		case o := <-c.out:
			buf = c.load(buf, o)
			continue
		default:
		}
		select {
		case o := <-c.control:
			buf = c.load(buf, o)
		default:
			return buf
		}
	}
	return buf
}

func (c *Conn) load(buf []byte, o *outgoing) []byte {
	if !o.state.CompareAndSwap(stateQueued, stateTaken) {
		return buf
	}
	if c.cfg.Trace != nil {
		c.cfg.Trace(true, o.data[:len(o.data)-1])
	}
	return append(buf, o.data...)
}
