package live

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/tools/page"
)

// A fault is a change of the program's answers on their way to the browser.
type fault struct {
	from, to string // a text of the page, its style or its script
	header   string // a header to remove
}

var nothing fault

// A faulty is a proxy between a program and the browser.
type faulty struct {
	address string // of the page
	planted atomic.Bool
	refused chan struct{} // receives a token once the browser has got an error because the program is gone
}

// later starts the program after the browser has seen a failed request, however
// soon the browser retries.
func (f *faulty) later(p *program) func() error {
	return func() error {
		select {
		case <-f.refused:
			return p.start()
		case <-shared.browser.Done():
			return shared.browser.Err()
		}
	}
}

func plant(t *testing.T, address string, f fault) *faulty {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	between := &faulty{refused: make(chan struct{}, 1)}
	between.planted.Store(f == nothing)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
		},
		ErrorLog: log.New(io.Discard, "", 0), // a program that ends breaks its responses off
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusBadGateway)
			select {
			case between.refused <- struct{}{}:
			default:
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if f.header != "" && r.Header.Get(f.header) != "" {
				r.Header.Del(f.header)
				between.planted.Store(true)
			}
			if f.from == "" || r.Header.Get("Content-Type") == "text/event-stream" {
				return nil
			}
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			changed := strings.ReplaceAll(string(text), f.from, f.to)
			if changed != string(text) {
				between.planted.Store(true)
			}
			r.Body = io.NopCloser(bytes.NewBufferString(changed))
			r.Header.Set("Content-Length", strconv.Itoa(len(changed)))
			return nil
		},
	})
	t.Cleanup(server.Close)
	between.address = server.URL + target.Path
	return between
}

// Every check must be seen to fail: each fault trips one check.
func TestPlanted(t *testing.T) {
	suite.Proves(t, "that the checks of the page fail")
	quiet := func(s *Session) { s.Filled(); s.wrong = append(s.wrong, s.Quiet()...) }
	asks := func(check string) func(*Session) {
		return func(s *Session) { s.Moves(); s.wrong = append(s.wrong, s.Ask(check)...) }
	}
	alone := func(s *Session) { s.Filled(); s.Alone() }
	dropped := func(parameter string) fault {
		return fault{from: `query.set(name, value);`, to: `name === "` + parameter + `" || query.set(name, value);`}
	}
	try := func(p *program, name string, f fault, check func(*Session), says string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time passes in waiting for updates
			between := plant(t, p.address, f)
			s := visit(t, between.address, page.Desk)
			check(s)
			if wrong := strings.Join(s.wrong, "\n"); !between.planted.Load() || !strings.Contains(wrong, says) {
				t.Errorf("planted %v; complaints: %q", between.planted.Load(), wrong)
			}
		})
	}
	few, many := begin(t), begin(t, "-many", "10000")
	try(few, "no script", fault{from: `format=js`, to: `format=css`}, (*Session).Filled, "no channel is listed")
	try(few, "still lines", fault{from: `"M" + points.join("L")`, to: `""`}, (*Session).Moves, "no line moves")
	try(few, "no rates", fault{from: `rate(c.sentRate), rate(c.receivedRate),`, to: `"–", "–",`}, (*Session).Moves, "a busy channel has no rate")
	try(few, "no age", fault{from: `age(c), count`, to: `"–", count`}, (*Session).Moves, "has no age")
	try(few, "no waiting senders", fault{from: `short.format(c.senders.now), short`, to: `"0", short`}, (*Session).Moves, "40 waiting senders")
	try(few, "no sorting", dropped("sort"), (*Session).Sorts, "sorting by waiting senders")
	try(few, "no order", dropped("order"), (*Session).Sorts, "in descending order")
	try(few, "no filter", dropped("filter"), (*Session).Filters, "filtering by a part")
	try(few, "no kinds", dropped("kind"), (*Session).Filters, "filtering by kind")
	try(few, "silence", fault{from: `"No channel matches."`, to: `""`}, (*Session).Filters, "the message for an empty list")
	try(many, "no pages", dropped("page"), (*Session).Turns, "the next page does not appear")
	try(many, "small pages", fault{from: `q.set("format", "events");`, to: `q.set("format", "events"); q.set("size", "20");`}, (*Session).Turns, "there are not 201 pages")
	try(many, "all in one", fault{from: `body.children[i] !== r.row`, to: `body.append(newRow(0).row), body.children[i] !== r.row`}, (*Session).Turns, "a page does not list 50 channels")
	try(many, "the same page", fault{from: `r.row.remove();`, to: `continue;`}, (*Session).Turns, "appears on two pages")
	try(few, "a word on the console", fault{from: `function disconnect() {`, to: `function disconnect() { console.log("x");`}, quiet, "console.log")
	try(few, "a script that fails", fault{from: `function connect() {`, to: `function connect() { setTimeout(() => undefined.x);`}, quiet, "exception: ")
	try(few, "a request to elsewhere", fault{from: `<title>`, to: `<script src="http://127.0.0.1:9/x.js"></script><title>`}, alone, "the page asked for http://127.0.0.1:9/x.js")
	try(few, "no policy", fault{header: "Content-Security-Policy"}, (*Session).Guarded, "has run")
	try(few, "names as HTML", fault{from: `if (r.texts[k].textContent !== text) r.texts[k].textContent = text;`, to: `r.texts[k].innerHTML = text;`}, escapes, "not shown as text")
	try(few, "names in HTML", fault{from: `link.href = "?channel=" + id;`, to: `link.href = "?channel=" + id; row.append(document.createElement("img"));`}, escapes, "became an element of the page")
	try(few, "a wide page", fault{from: `table { border-collapse`, to: `table { min-width: 1500px; border-collapse`}, asks("width"), "pixels wide in a view of 1280")
	try(few, "faint text", fault{from: `--soft: #5b646c`, to: `--soft: #aaaaaa`}, asks("contrast"), "text .")
	try(few, "no units", fault{from: `<small>total</small>`}, (*Session).Names, "the columns have other names")
	try(few, "a bare number of lanes", fault{from: "plural(c.lanes, \"lane\")", to: `c.lanes`}, (*Session).Names, "the number of lanes has no unit")
	try(few, "no memory", fault{from: `bytes(c.bytes)]`, to: `""]`}, (*Session).Names, "the memory of a channel")
	try(few, "no own page", fault{from: `link.href = "?channel=" + id;`, to: `link.href = "#";`}, Inside("still"), "has no page of its own")
	try(few, "a slot more", fault{from: `behind < r.len`, to: `behind <= r.len`}, Inside("still"), "does not have 5 filled slots")
	try(few, "no arrow", fault{from: `ring.inner - 2, "receive");`, to: `ring.inner - 2, "none");`}, Inside("still"), "an index has no arrow")
	try(few, "no waiters", fault{from: `class: "waiter"`, to: `class: "none"`}, Inside("stuck"), "waiters are not drawn")
	try(few, "no count of waiters", fault{from: `"+ " + short`, to: `"" + short`}, Inside("stuck"), "does not show the remaining 36")
	try(few, "no hand-off", fault{from: `"hand-off"`, to: `""`}, Inside("busy/rendezvous"), "not drawn as one")
	try(few, "no mark", fault{from: `class: "mark"`, to: `class: "none"`}, Inside("busy/elastic"), "the high-water mark is missing")
	try(few, "no lane", fault{from: `drawn.forEach(`, to: `drawn.slice(1).forEach(`}, Inside("busy/sharded"), "a lane is not drawn")
	try(few, "no list of lanes", fault{from: `showLanes(c);`, to: ``}, Inside("busy/sharded"), "a lane is not listed")
	try(few, "no ages", fault{from: `make("li", seconds(age))`, to: `make("li", "")`}, Inside("stuck"), "40 durations")
}

// Each fault trips one check of the map, or of the list, with flows that are made up.
func TestPlantedFlows(t *testing.T) {
	suite.Proves(t, "that the checks of the page fail")
	try := func(name string, f fault, flows []*drawing, check func(*Session), says string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			between, view := plant(t, serve(t, flows...), f), page.Desk
			view.Still = name == "motion"
			s := visit(t, between.address, view)
			check(s)
			if wrong := strings.Join(s.wrong, "\n"); !between.planted.Load() || !strings.Contains(wrong, says) {
				t.Errorf("planted %v; complaints: %q", between.planted.Load(), wrong)
			}
		})
	}
	two, eight, first := []*drawing{twoChannels()}, []*drawing{eightChannels()}, []*drawing{eightChannels(), nil}
	mapped := func(s *Session) { s.Mapped(6, 8) }
	try("no map", fault{from: `showMap(report.flow);`}, eight, mapped, "does not show 6 stages and 8 channels")
	try("overlapping boxes", fault{from: `(items[i - 1].height + item.height) / 2 + gaps.across`, to: `20`}, eight, mapped, " overlaps ")
	try("boxes outside", fault{from: `if (used > width && from < n - 1) break;`}, eight, mapped, "is outside of the map")
	try("a long text", fault{from: "`oldest ${age(c)}`", to: "`the oldest value is ${age(c)} old`"}, eight, mapped, "is cut off")
	try("a low box", fault{from: `.large .channel { width: 208px; height: 114px; }`, to: `.large .channel { width: 208px; height: 60px; }`}, eight, mapped, "does not fit into its box")
	try("a sign over a name", fault{from: `.node .head { display: flex;`, to: `.channel .sign { position: relative; right: 130px; } .node .head { display: flex;`}, eight, mapped, " overlap")
	changes, stays := changing()
	try("restless boxes", fault{from: `node.inner.title = words;`, to: `node.item.style.left = Date.now() % 97 + "px";`}, changes, stays, "although only figures change")
	changes, stays = changing()
	try("a new order", fault{from: `before.get(item.id)?.middle;`, to: `-before.get(item.id)?.middle;`}, changes, stays, "changes the order of the others")
	try("motion", fault{from: `prefers-reduced-motion: no-preference`, to: `min-width: 1px`}, two, (*Session).Still, "prefers reduced motion")
	try("a silent sentence", fault{from: ` aria-live="polite"`}, eight, (*Session).Accessible, "does not announce the sentence")
	try("a sentence without end", fault{from: `if (at("sentence").textContent !== flow.summary)`}, eight, (*Session).Accessible, "a sentence that did not change")
	try("no focus", fault{from: `link.href = "?channel=" + c.id;`}, eight, (*Session).Accessible, "cannot have the focus")
	try("no description", fault{from: `node.inner.setAttribute("aria-label", words);`}, eight, (*Session).Accessible, "a channel has no description")
	try("no bottleneck", fault{from: `sign: held ? "bottleneck" : ""`, to: `sign: ""`}, eight, (*Session).Marked, "main.validate has no sign")
	try("no drops", fault{from: `dropping ? "✕ drops"`, to: `false ? "✕ drops"`}, eight, (*Session).Marked, "samples has no sign")
	try("no closed channel", fault{from: `"⊘ closed"`, to: `""`}, eight, (*Session).Marked, "configuration has no sign")
	try("no highlight", fault{from: `held ? "held" : ""`, to: `""`}, eight, (*Session).Marked, "does not highlight one stage and one channel")
	try("no color", fault{from: `.near .pipe i {`, to: `.never i {`}, eight, (*Session).Marked, "the same color as others")
	try("no length", fault{from: "`${count(c.len)} queued`", to: `""`}, eight, (*Session).Marked, "does not show its length")
	try("no list of others", fault{from: `at("unplaced").textContent = notes.join(" ");`}, eight, (*Session).Marked, "does not name channels")
	try("no stage", fault{from: `map.chosen = map.chosen === s.id ? null : s.id;`}, eight, (*Session).Marked, "a click on a stage")
	try("no way to a channel", fault{from: `link.href = "?channel=" + c.id;`, to: `link.href = "#";`}, eight, (*Session).Marked, "a click on a channel")
	try("late color", fault{from: `part >= 0.8`, to: `part >= 0.9`}, growing(), (*Session).Grows, "has the color of others")
	try("no forecast", fault{from: `left < 3600`, to: `false`}, growing(), (*Session).Grows, "has no time until it is full")
	try("a false forecast", fault{from: `if (!(c.cap > 0) || c.len >= c.cap || n < 4) return "";`, to: `if (c.name === "lines") return "full in 1 s";`}, growing(), (*Session).Grows, "that does not grow")
	try("a dot", fault{from: `points.length > 2 ?`, to: `points.length > 0 ?`}, first, (*Session).Sparks, "a line is a dot")
	try("no baseline", fault{from: `height: 20px; border-bottom: 1px solid`, to: `height: 20px; border-bottom: 0 solid`}, first, (*Session).Sparks, "has no baseline")
	try("a bar that grows at first", fault{from: `.drawn .pipe i {`, to: `.pipe i {`}, first, (*Session).First, "a bar moves")
	try("bars from the right", fault{from: `transform-origin: left`, to: `transform-origin: right`}, first, (*Session).First, "does not fill from the left")
	try("no method", fault{from: `name: stageName(`, to: `name: cutFront(`}, eight, (*Session).Marked, "the method of a stage")
	try("unclear rates", fault{from: "`in ${rate(enter)}/s, out ", to: "`${rate(enter)} → "}, eight, (*Session).Marked, "do not say which is which")
	try("an unclear age", fault{from: "`oldest ${", to: "`${"}, eight, (*Session).Marked, "an age does not say")
	try("no unit of a loss", fault{from: ` values/s dropped`, to: ` dropped`}, eight, (*Session).Marked, "a loss has no unit")
	try("lines elsewhere", fault{from: `.spark { display: block;`, to: `.spark { position: relative; top: 60px; display: block;`}, first, (*Session).Sparks, "leaves its row")
}

// The map does not follow the program, or the page does not say that a channel is gone.
func TestPlantedPrograms(t *testing.T) {
	suite.Proves(t, "that the checks of the page fail")
	for _, test := range []struct {
		name  string
		fault fault
		flags []string
		check func(*Session, *program)
		says  string
	}{
		{"an old sentence", fault{from: `at("sentence").textContent = flow.summary;`, to: `at("sentence").textContent ||= flow.summary;`}, []string{"-pipeline"}, func(s *Session, p *program) { s.Follows(p.slow) }, "the sentence does not say"},
		{"an old highlight", fault{from: `drawn.bottleneck.stage === s.id`, to: `s.id.endsWith("parse")`}, []string{"-pipeline"}, func(s *Session, p *program) { s.Follows(p.slow) }, "does not highlight enrich and events"},
		{"no word", fault{from: "`this channel is gone", to: "`no channel"}, nil, func(s *Session, p *program) { s.Gone(p.drop) }, "does not say that its channel is gone"},
		{"no reason", fault{from: `text.startsWith("sluice: no such channel")`, to: `false`}, nil, func(s *Session, p *program) { s.Gone(p.drop) }, "opened later does not say"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, test.flags...)
			between := plant(t, p.address, test.fault)
			s := visit(t, between.address, page.Desk)
			test.check(s, p)
			if wrong := strings.Join(s.wrong, "\n"); !between.planted.Load() || !strings.Contains(wrong, test.says) {
				t.Errorf("planted %v; complaints: %q", between.planted.Load(), wrong)
			}
		})
	}
}

// The page does not recover, or does not report that it is waiting.
func TestPlantedRestart(t *testing.T) {
	suite.Proves(t, "that the checks of the page fail")
	for _, test := range []struct {
		fault fault
		says  string
	}{
		{fault{from: `again = setTimeout(connect, 5000)`, to: `source.close()`}, "no line moves"},
		{fault{from: `trouble("no connection, retrying");`, to: ``}, "does not report the lost connection"},
		{fault{from: `if (now - last > 2500) histories.clear();`, to: ``}, "history of the previous program"},
	} {
		p := begin(t)
		between := plant(t, p.address, test.fault)
		s := visit(t, between.address, page.Desk)
		s.Returns(p.stop, between.later(p))
		if wrong := strings.Join(s.wrong, "\n"); !between.planted.Load() || !strings.Contains(wrong, test.says) {
			t.Errorf("planted %v; complaints: %q", between.planted.Load(), wrong)
		}
	}
}
