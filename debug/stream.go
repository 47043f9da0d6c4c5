package debug

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	maxStreams = 64
	// takeWithin is how long a client may leave an update unread, which is what
	// buffers on the way hold besides.
	takeWithin = 10 * time.Second
)

// stream sends a report now and once a period, in the request's own goroutine,
// until the client is gone, the server shuts down, or the channel asked for is no
// more.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, q query) {
	ending, ok := h.begin(r)
	if !ok {
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d streams are open, and there may be no more", maxStreams))
		return
	}
	defer h.end()
	if _, found := q.report(h.monitor.lookFor(q)); !found {
		refuse(w, http.StatusNotFound, gone)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	out := http.NewResponseController(w)
	for {
		report, found := q.report(h.monitor.lookFor(q))
		// Without a deadline, a client that reads nothing would be waited for.
		// A server may offer none; then its own, if any, counts.
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

// event is a report as a server-sent event, or the one that says there is none.
func event(r Report, found bool) []byte {
	if !found {
		return []byte("event: gone\ndata: {}\n\n")
	}
	text := bytes.NewBufferString("data: ")
	_ = json.NewEncoder(text).Encode(r) // of plain fields; ends in a line feed
	text.WriteByte('\n')
	return text.Bytes()
}

// begin counts a stream, and returns what is closed when its server shuts down:
// Shutdown waits for requests, and would wait for ever for this one.
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
