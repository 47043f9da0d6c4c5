package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/vt"
)

// A terminal is an emulated terminal that records its output and whether it was
// restored.
type terminal struct {
	vt.MockTerm
	mu            sync.Mutex
	written       bytes.Buffer
	starts, stops int
	outer         *testing.T
}

func (m *terminal) Write(p []byte) (int, error) {
	m.mu.Lock()
	m.written.Write(p)
	m.mu.Unlock()
	return m.MockTerm.Write(p)
}

func (m *terminal) Start() error {
	m.mu.Lock()
	m.starts++
	m.mu.Unlock()
	return m.MockTerm.Start()
}

func (m *terminal) Stop() error {
	m.mu.Lock()
	m.stops++
	m.mu.Unlock()
	return m.MockTerm.Stop()
}

// isRestored reports whether the terminal is restored: its main screen and the
// cursor.
func (m *terminal) isRestored() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := m.written.String()
	off := func(begin, end string) bool { return strings.LastIndex(text, end) > strings.LastIndex(text, begin) }
	return m.starts > 0 && m.stops >= m.starts && off("\x1b[?1049h", "\x1b[?1049l") && off("\x1b[?25l", "\x1b[?25h")
}

// text returns the visible text.
func (m *terminal) text() string {
	var b strings.Builder
	size, _ := m.WindowSize()
	for y := range size.Height {
		for x := range size.Width {
			b.WriteString(m.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)}).C)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shows waits until the screen shows want.
func (m *terminal) shows(want string) {
	m.outer.Helper()
	watchdog := time.Now().Add(20 * time.Second)
	for !strings.Contains(m.text(), want) {
		if time.Now().After(watchdog) {
			m.outer.Fatalf("%q never appeared on the screen:\n%s", want, m.text())
		}
		time.Sleep(time.Millisecond)
	}
}

// A fragile screen panics on demand. It records whether it showed a failed request.
type fragile struct {
	tcell.Screen
	breaks, complained atomic.Bool
}

func (f *fragile) PutStrStyled(x, y int, text string, style tcell.Style) {
	if strings.Contains(text, "retrying") {
		f.complained.Store(true)
	}
	f.Screen.PutStrStyled(x, y, text, style)
}

func (f *fragile) Show() {
	if f.breaks.Load() {
		panic("planted")
	}
	f.Screen.Show()
}

// An ending is the result of live, and whether the terminal was restored by
// then.
type ending struct {
	err      error
	panic    any
	restored bool
}

// begin shows a service on an emulated terminal.
func begin(t *testing.T, ctx context.Context, s *Service) (*terminal, *fragile, <-chan ending) {
	t.Helper()
	return beginIn(t, ctx, s, "C.UTF-8", often)
}

// often is the period of tests that wait for the next report.
const often = 5 * time.Millisecond

func beginIn(t *testing.T, ctx context.Context, s *Service, locale string, period time.Duration) (*terminal, *fragile, <-chan ending) {
	t.Helper()
	for name, value := range map[string]string{"TERM": "xterm-256color", "COLORTERM": "", "LC_ALL": locale, "LINES": "", "COLUMNS": ""} {
		t.Setenv(name, value)
	}
	m := &terminal{MockTerm: vt.NewMockTerm(vt.MockOptSize{X: 80, Y: 24}), outer: t}
	real, err := tcell.NewTerminfoScreenFromTty(m)
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Fetch(ctx, Query{Page: 1})
	if err != nil {
		t.Fatal(err)
	}
	screen := &fragile{Screen: real}
	ended := make(chan ending, 1)
	go func() {
		var e ending
		defer func() {
			e.panic, e.restored = recover(), m.isRestored()
			ended <- e
		}()
		e.err = live(ctx, screen, s, Query{Page: 1}, first, period, often)
	}()
	return m, screen, ended
}

// A flaky service can go away, restart, and come back.
type flaky struct {
	pages
	instead atomic.Pointer[http.HandlerFunc]
}

func (f *flaky) do(h http.HandlerFunc) { f.instead.Store(&h) }

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := f.instead.Load(); h != nil && *h != nil {
		(*h)(w, r)
		return
	}
	q := Query{Page: 1}
	if err := q.read(r.URL.RawQuery); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q.channelsOnPage = 19
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(f.answer(q))
}

func TestLive(t *testing.T) {
	f := &flaky{pages: 45}
	s, server := serve(t, f)
	here, gone := s.client.Transport, http.DefaultTransport.(*http.Transport).Clone()
	gone.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, unused) // a released port may be in use by another process
	}
	var away atomic.Bool
	s.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if away.Load() { // no connection that was made before is used
			return gone.RoundTrip(r)
		}
		return here.RoundTrip(r)
	})
	m, _, ended := begin(t, t.Context(), s)
	m.shows("page 1 of 3, 45 channels")
	m.KeyTap(vt.KeyDown)
	m.KeyTap(vt.KeyEnter)
	m.shows("c2  Bounded, ID 2")
	m.KeyTap(vt.KeyEsc)
	m.shows("page 1 of 3")
	m.KeyTap(vt.KeyPgDn)
	m.shows("page 2 of 3")
	m.SetSize(vt.Coord{X: 40, Y: 12})
	m.shows("m map  ⏎ open          \n") // as many as fit in 40 columns
	m.SetSize(vt.Coord{X: 80, Y: 24})
	m.shows("n p page")

	f.do(http.NotFound)
	m.shows(": status 404 Not Found: does the service register")
	m.shows("c20 ") // the last report is still visible
	f.do(nil)
	m.shows("by name")

	// Gone with its connections, and back.
	away.Store(true)
	server.CloseClientConnections()
	m.shows("retrying every 5ms: connection refused")
	away.Store(false)
	m.shows("by name")

	m.KeyTap(vt.KeyQ)
	if e := <-ended; e != (ending{restored: true}) {
		t.Errorf("after q: %+v", e)
	}
}

// A key's query is sent immediately, not with the next period.
func TestAtOnce(t *testing.T) {
	s, _ := serve(t, &flaky{pages: 45})
	m, _, ended := beginIn(t, t.Context(), s, "C.UTF-8", time.Hour)
	m.shows("page 1 of 3")
	m.KeyTap(vt.KeyPgDn)
	m.shows("page 2 of 3")
	m.KeyTap(vt.KeySpace)
	m.shows("paused")
	m.KeyTap(vt.KeyEnter)
	m.shows("c20  Bounded, ID 20")
	m.KeyTap(vt.KeyQ)
	<-ended
}

// A key during a request sends the next one at once and cancels the first, even with the same
// query: what becomes of the first is not shown.
func TestCanceledRequests(t *testing.T) {
	s, _ := serve(t, &flaky{pages: 3})
	var hanging atomic.Bool
	hangs := make(chan struct{})
	s.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if !hanging.Load() {
			return http.DefaultTransport.RoundTrip(r)
		}
		select {
		case hangs <- struct{}{}:
			<-r.Context().Done()
		case <-r.Context().Done():
		}
		return nil, r.Context().Err()
	})
	m, screen, ended := begin(t, t.Context(), s)
	m.shows("c3")
	hanging.Store(true)
	for range 20 {
		<-hangs
		m.KeyTap(vt.KeySpace)
		m.KeyTap(vt.KeySpace) // not paused any longer
	}
	<-hangs
	m.KeyTap(vt.KeyQ)
	<-ended
	if screen.complained.Load() {
		t.Error("a canceled request is shown as an error")
	}
}

// A channel that was collected remains visible with a message, and Esc returns
// to the list.
func TestGone(t *testing.T) {
	f := &flaky{pages: 3}
	s, _ := serve(t, f)
	m, _, ended := begin(t, t.Context(), s)
	m.shows("c3")
	m.KeyTap(vt.KeyEnter)
	m.shows("c1  Bounded, ID 1")
	f.do(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("channel") {
			http.Error(w, "sluice: there is no such channel, or no more", http.StatusNotFound)
			return
		}
		f.do(nil)
		f.ServeHTTP(w, r)
	})
	m.shows("this channel no longer exists")
	m.shows("c1  Bounded, ID 1")
	m.KeyTap(vt.KeyEsc)
	m.shows("c3")
	m.KeyTap(vt.KeyQ)
	if e := <-ended; e != (ending{restored: true}) {
		t.Errorf("%+v", e)
	}
}

// The terminal is restored, however live ends.
func TestRestored(t *testing.T) {
	var panicking atomic.Bool
	for _, test := range []struct {
		name string
		end  func(m *terminal, screen *fragile, signal context.CancelFunc)
		want ending
	}{
		{"q", func(m *terminal, _ *fragile, _ context.CancelFunc) { m.KeyTap(vt.KeyQ) }, ending{restored: true}},
		{"Ctrl-C", func(m *terminal, _ *fragile, _ context.CancelFunc) { m.KeyTap(vt.KeyLCtrl, vt.KeyC) }, ending{restored: true}},
		{"a signal", func(_ *terminal, _ *fragile, signal context.CancelFunc) { signal() }, ending{err: context.Canceled, restored: true}},
		{"a panic while it draws", func(_ *terminal, screen *fragile, _ context.CancelFunc) { screen.breaks.Store(true) }, ending{panic: "planted", restored: true}},
		{"a panic in a request", func(*terminal, *fragile, context.CancelFunc) { panicking.Store(true) }, ending{panic: "planted", restored: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, signal := context.WithCancel(t.Context())
			defer signal()
			s, _ := serve(t, &flaky{pages: 3})
			s.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				if panicking.Load() {
					panic("planted")
				}
				return http.DefaultTransport.RoundTrip(r)
			})
			m, screen, ended := begin(t, ctx, s)
			m.shows("c3")
			if m.isRestored() {
				t.Error("restored while in use")
			}
			test.end(m, screen, signal)
			e := <-ended
			// A panic includes the stack of its origin.
			if said, ok := e.panic.(string); ok && strings.HasPrefix(said, "planted\n") && strings.Contains(said, ".Get(") {
				e.panic = "planted"
			}
			if e != test.want {
				t.Errorf("%+v, want %+v", e, test.want)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// All keys of the model are mapped.
func TestPressed(t *testing.T) {
	for want, event := range map[key]*tcell.EventKey{
		"a": tcell.NewEventKey(tcell.KeyRune, "a", 0), " ": tcell.NewEventKey(tcell.KeyRune, " ", 0),
		keyUp: tcell.NewEventKey(tcell.KeyUp, "", 0), keyDown: tcell.NewEventKey(tcell.KeyDown, "", 0),
		keyHome: tcell.NewEventKey(tcell.KeyHome, "", 0), keyEnd: tcell.NewEventKey(tcell.KeyEnd, "", 0),
		keyNext: tcell.NewEventKey(tcell.KeyRight, "", 0), keyPrevious: tcell.NewEventKey(tcell.KeyPgUp, "", 0),
		keyErase: tcell.NewEventKey(tcell.KeyBackspace, "", 0), keyClear: tcell.NewEventKey(tcell.KeyCtrlU, "u", tcell.ModCtrl),
		keyInterrupt: tcell.NewEventKey(tcell.KeyCtrlC, "c", tcell.ModCtrl), "": tcell.NewEventKey(tcell.KeyRune, "q", tcell.ModAlt),
	} {
		if got := pressed(event); got != want {
			t.Errorf("%s is %q, want %q", event.Name(), got, want)
		}
	}
	if got := pressed(tcell.NewEventKey(tcell.KeyF5, "", 0)); got != "" {
		t.Errorf("F5 is %q", got)
	}
}
