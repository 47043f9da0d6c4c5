package livepage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	maxStreams = 64
	// takeWithin is how long a client may leave an update unread, beyond what
	// buffers on the way absorb.
	takeWithin = 10 * time.Second
)

// stream sends a report now and once per period, in the request's own
// goroutine, until the client disconnects, the server shuts down, or the
// requested channel is garbage-collected.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, q query) {
	ending, ok := h.begin(r)
	if !ok {
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("too many streams (at most %d): close a page", maxStreams))
		return
	}
	defer h.end()
	if _, found := q.report(h.monitor.look(q.channel)); !found {
		refuse(w, http.StatusNotFound, gone)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	out := http.NewResponseController(w)
	for {
		report, found := q.report(h.monitor.look(q.channel))
		// Without a deadline, a client that reads nothing would block this
		// goroutine. A ResponseWriter may not support deadlines; then the
		// server's own timeout, if any, applies.
		_ = out.SetWriteDeadline(time.Now().Add(takeWithin))
		if _, err := w.Write(event(report, found)); err != nil {
			return
		}
		if err := out.Flush(); err != nil || !found {
			return
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-ending:
			return
		}
	}
}

// event encodes a report as a server-sent event, or the event "gone".
func event(r Report, found bool) []byte {
	if !found {
		return []byte("event: gone\ndata: {}\n\n")
	}
	text := bytes.NewBufferString("data: ")
	_ = json.NewEncoder(text).Encode(r) // plain fields cannot fail; the text ends in a newline
	text.WriteByte('\n')
	return text.Bytes()
}

// begin counts a stream and returns a channel that is closed when its server
// shuts down: Shutdown waits for active requests, and a stream would never end.
func (h *handler) begin(r *http.Request) (ending <-chan struct{}, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams == maxStreams {
		return nil, false
	}
	h.streams++
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	if server == nil {
		return nil, true
	}
	if h.ending[server] == nil {
		if h.ending == nil {
			h.ending = map[*http.Server]<-chan struct{}{}
		}
		closed := make(chan struct{})
		h.ending[server] = closed
		server.RegisterOnShutdown(func() { close(closed) })
	}
	return h.ending[server], true
}

func (h *handler) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams--
}
