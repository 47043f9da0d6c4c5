package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/livepage"
)

// pages is a service with that many channels, named c1, c2, ...
type pages int

func (n pages) answer(q Query) *livepage.Report {
	if q.Channel != 0 {
		return &livepage.Report{Time: noon, Named: int(n), Matching: 1, Page: 1, Pages: 1, Channels: []livepage.Channel{n.channel(int(q.Channel))}}
	}
	size := max(1, q.channelsOnPage)
	r := &livepage.Report{Time: noon, Named: int(n), Matching: int(n), Pages: max(1, (int(n)+size-1)/size)}
	r.Page = max(1, min(q.Page, r.Pages))
	for i := (r.Page-1)*size + 1; i <= min(int(n), r.Page*size); i++ {
		r.Channels = append(r.Channels, n.channel(i))
	}
	return r
}

func (n pages) channel(id int) livepage.Channel {
	return livepage.Channel{ID: uint64(id), Name: fmt.Sprintf("c%d", id), Kind: "Bounded", Cap: new(8)}
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)

// press presses named keys, and answers each query.
func (n pages) press(m *model, keys string) {
	for word := range strings.FieldsSeq(keys) {
		if word == "space" {
			word = " "
		}
		before := m.request()
		m.press(key(word))
		if m.request() != before {
			m.show(n.answer(m.request()))
		}
	}
}

func modelOf(n pages, height int) *model {
	m := newModel("service", Query{Page: 1})
	m.resize(80, height)
	m.show(n.answer(m.request()))
	return m
}

// Keys change the row, the page and the open channel.
func TestChoosing(t *testing.T) {
	for _, test := range []struct {
		keys string
		want string // chosen, page, open
	}{
		{"", "1 1 0"},
		{"down j", "3 1 0"},
		{"down down up", "2 1 0"},
		{"up k", "1 1 0"},
		{"end", "10 1 0"},
		{"end home", "1 1 0"},
		{"end down", "11 2 0"},
		{"n", "11 2 0"},
		{"pgdn pgdn pgdn", "21 3 0"},
		{"n n end", "25 3 0"},
		{"n n end down", "25 3 0"},
		{"n up", "10 1 0"},
		{"n p p", "1 1 0"},
		{"down enter", "2 1 2"},
		{"down enter esc", "2 1 0"},
		{"down enter erase", "2 1 0"},
		{"down enter down n pgdn s t o /", "2 1 2"},
		{"down enter esc down", "3 1 0"},
		{"? down enter down", "2 1 0"},
		{"x é unknown", "1 1 0"},
	} {
		m := modelOf(25, 10+besideRows)
		pages(25).press(m, test.keys)
		if got := fmt.Sprint(m.chosen, m.query.Page, m.open); got != test.want || m.leaving {
			t.Errorf("%q: %s, want %s; leaving %v", test.keys, got, test.want, m.leaving)
		}
	}
}

// Keys change the query.
func TestAsking(t *testing.T) {
	for _, test := range []struct {
		keys string
		want Query
	}{
		{"s", Query{Sort: "fill", Page: 1}},
		{"s s S", Query{Sort: "fill", Page: 1}},
		{"n s", Query{Sort: "fill", Page: 1}},
		{"o", Query{Order: "desc", Page: 1}},
		{"o o", Query{Order: "asc", Page: 1}},
		{"s o", Query{Sort: "fill", Order: "asc", Page: 1}},
		{"n t", Query{Kind: "rendezvous", Page: 1}},
		{"t t t t t t t t t", Query{Page: 1}},
		{"n / q s 日", Query{Filter: "qs日", Page: 1}},
		{"/ a b erase enter q", Query{Filter: "a", Page: 1}},
		{"/ a enter / b esc", Query{Filter: "a", Page: 1}},
		{"/ a b clear c", Query{Filter: "c", Page: 1}},
		{"/ a enter t esc", Query{Page: 1}},
		{"/ erase a pgdn up \x07 ab", Query{Filter: "a", Page: 1}},
	} {
		m := modelOf(25, 10+besideRows)
		pages(25).press(m, test.keys)
		test.want.channelsOnPage = 10
		if got := m.request(); got != test.want {
			t.Errorf("%q: %+v, want %+v", test.keys, got, test.want)
		}
	}
	m := modelOf(25, 30)
	pages(25).press(m, "/"+strings.Repeat(" y", 2*maxFilter))
	if len(m.query.Filter) != maxFilter {
		t.Errorf("a filter of %d", len(m.query.Filter))
	}
}

// Quitting works everywhere, but q in a filter is text.
func TestQuitting(t *testing.T) {
	for keys, want := range map[string]bool{
		"q": true, "ctrl-c": true, "enter q": true, "? q": true, "/ q": false, "/ ctrl-c": true, "/ q enter q": true, "space q": true, "esc": false,
	} {
		m := modelOf(25, 30)
		pages(25).press(m, keys)
		if m.leaving != want {
			t.Errorf("%q: leaving %v", keys, m.leaving)
		}
	}
}

// The selection follows a channel, not a position.
func TestChosenMoves(t *testing.T) {
	m := modelOf(3, 30)
	m.press(keyDown)
	report := pages(3).answer(m.request())
	report.Channels[0], report.Channels[1] = report.Channels[1], report.Channels[0]
	if m.show(report); m.row != 0 || m.chosen != 2 {
		t.Errorf("row %d, channel %d", m.row, m.chosen)
	}
	report.Channels = report.Channels[1:] // the channel is gone
	if m.show(report); m.row != 0 || m.chosen != 1 {
		t.Errorf("row %d, channel %d", m.row, m.chosen)
	}
	report.Channels = nil
	if m.show(report); m.row != 0 || m.chosen != 0 {
		t.Errorf("row %d, channel %d", m.row, m.chosen)
	}
	m.press(keyEnter)
	if m.press(keyDown); m.open != 0 {
		t.Errorf("channel %d of an empty list is open", m.open)
	}
}

// A page past the last one becomes the last one.
func TestPageThatIsGone(t *testing.T) {
	m := modelOf(25, 10+besideRows)
	pages(25).press(m, "n n")
	m.show(pages(11).answer(m.request()))
	if m.query.Page != 2 || m.chosen != 11 {
		t.Errorf("page %d, channel %d", m.query.Page, m.chosen)
	}
}

// After a restart, an open view does not show another channel with the same ID.
func TestAnotherChannel(t *testing.T) {
	m := modelOf(3, 30)
	pages(3).press(m, "down enter")
	report := pages(3).answer(m.request())
	report.Channels[0].Name = "other"
	m.show(report)
	if !m.isFinal() || m.report.Channels[0].Name != "c2" {
		t.Errorf("%v, %+v", m.wrong, m.report)
	}
	if m.press(keyEscape); m.wrong != nil || m.open != 0 || m.rows() != 3 {
		t.Errorf("back in the list: %v, %d rows", m.wrong, m.rows())
	}
	m.press(keyEnter)
	m.show(&livepage.Report{Time: noon})
	if m.wrong == nil || m.isFinal() {
		t.Errorf("a response without the channel: %v", m.wrong)
	}
}

// A history belongs to one channel, not to a later one with the same ID.
func TestHistories(t *testing.T) {
	h := histories{}
	look := func(name string, sent uint64, rate *float64) {
		h.add(&livepage.Report{Channels: []livepage.Channel{{ID: 1, Name: name, Sent: sent, Len: int(sent), SentRate: rate, ReceivedRate: rate}}})
	}
	look("a", 1, nil)
	look("a", 2, new(5.0))
	if got := fmt.Sprint(h[1].fill, h[1].sent, h[1].arrived); got != "[1 2] [5] [5]" {
		t.Error(got)
	}
	look("a", 1, nil) // its counter starts over
	if got := fmt.Sprint(h[1].fill, h[1].sent); got != "[1] []" {
		t.Error(got)
	}
	look("b", 3, nil)
	if got := fmt.Sprint(h[1].fill); got != "[3]" {
		t.Error(got)
	}
	for i := range 2 * remembered {
		look("b", uint64(3+i), new(float64(i)))
	}
	if len(h[1].fill) != remembered || len(h[1].sent) != remembered || h[1].sent[remembered-1] != 2*remembered-1 {
		t.Errorf("%d and %d reports are kept", len(h[1].fill), len(h[1].sent))
	}
	if h.add(&livepage.Report{}); len(h) != 0 {
		t.Errorf("%d channels are kept that are not shown", len(h))
	}
}

func TestPausing(t *testing.T) {
	m := modelOf(3, 30)
	for _, want := range []bool{true, false} {
		if m.press(" "); m.paused != want {
			t.Errorf("paused: %v", m.paused)
		}
	}
	m.fail(errors.New("x"), time.Second)
	if m.isFinal() {
		t.Error("no retry of a service that does not respond")
	}
	m.fail(errGone, 0)
	if !m.isFinal() {
		t.Error("retry of a channel that is gone")
	}
}
