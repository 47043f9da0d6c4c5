package watch

import (
	"errors"
	"slices"
	"time"
	"unicode"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
	"github.com/sluice-go/sluice/livepage"
)

// A model is the state of the screen. Keys, reports and sizes change it. It
// sends no requests, and draws on demand.
type model struct {
	service string // its address
	query   Query  // of the list; Channel is 0
	open    uint64 // the channel whose own view is open, 0 for the list
	opened  identity

	report *livepage.Report // the last report, nil before the first
	list   *livepage.Report // the list's report while a channel is open
	flow   *flowmap.Map     // nil if the service has none, or is of an older version
	past   histories
	wrong  error // the error since the last report
	pause  time.Duration
	paused bool

	chosen  uint64 // ID of the selected row
	row     int    // index of the selected row
	typing  bool   // the filter
	before  string // the filter before typing
	help    bool
	mapped  bool // the map is shown, not the list
	scroll  int  // in a channel's own view, in the map and in the help
	leaving bool

	width, height int
}

// identity identifies a channel across reports.
type identity struct{ name, kind string }

func newModel(service string, q Query) *model {
	m := &model{service: service, query: q, past: histories{}}
	m.open, m.query.Channel = q.Channel, 0
	return m
}

// besideRows is the number of lines besides the rows: two above, heads, two
// below.
const besideRows = 5

// resize sets the size of the screen.
func (m *model) resize(width, height int) {
	m.width, m.height = width, height
	m.fitRows()
}

// fitRows sets the number of channels on a page to the rows of the list.
func (m *model) fitRows() {
	m.query.channelsOnPage = min(maxSize, max(1, m.height-besideRows-m.flowRows()))
}

// showFlow sets the map.
func (m *model) showFlow(f *livepage.Flow) {
	m.flow = nil
	if f != nil {
		if drawn := flowmap.New(f); drawn.Sentence() != "" {
			m.flow = drawn
		}
	}
	m.fitRows()
}

// request returns the query for the current view.
func (m *model) request() Query {
	q := m.query
	q.Channel = m.open
	return q
}

// show processes the response to a request.
func (m *model) show(report *livepage.Report) {
	m.wrong = nil
	if m.open != 0 {
		if len(report.Channels) != 1 {
			m.fail(errors.New("unexpected number of channels in the response"), 0)
			return
		}
		c := &report.Channels[0]
		is := identity{c.Name, c.Kind}
		if m.opened != is && m.opened != (identity{}) {
			m.fail(errOther, 0)
			return
		}
		m.opened = is
	}
	m.report = report
	m.past.add(report)
	if m.open != 0 {
		return
	}
	m.showFlow(report.Flow)
	m.query.Page = max(1, min(m.query.Page, report.Page))
	m.row = max(0, min(m.row, len(report.Channels)-1))
	if i := slices.IndexFunc(report.Channels, func(c livepage.Channel) bool { return c.ID == m.chosen }); i >= 0 {
		m.row = i
		return
	}
	m.chosen = 0
	if len(report.Channels) > 0 {
		m.chosen = report.Channels[m.row].ID
	}
}

// errOther ends a channel's own view after a restart, when IDs start over.
var errOther = errors.New("this ID now belongs to another channel: the service has restarted")

// fail records an error and the interval of retries; 0 means no retries.
func (m *model) fail(why error, again time.Duration) { m.wrong, m.pause = why, again }

// isFinal reports whether the open channel no longer exists.
func (m *model) isFinal() bool { return m.wrong == errGone || m.wrong == errOther }

// A key is a pressed key: one of the names below, or a character.
type key string

const (
	keyUp, keyDown, keyHome, keyEnd         key = "up", "down", "home", "end"
	keyNext, keyPrevious                    key = "pgdn", "pgup"
	keyEnter, keyEscape, keyErase, keyClear key = "enter", "esc", "erase", "clear"
	keyInterrupt                            key = "ctrl-c"
)

// press handles a key.
func (m *model) press(k key) {
	switch {
	case k == keyInterrupt, k == "q" && !m.typing:
		m.leaving = true
	case m.typing:
		m.typeFilter(k)
	case k == "?":
		m.help, m.scroll = !m.help, 0
	case k == " ":
		m.paused = !m.paused
	case k == "m" && m.open == 0 && !m.help:
		m.mapped, m.scroll = !m.mapped, 0
	case !m.help && !m.mapped && m.open == 0:
		m.pressInList(k)
	case k == keyEscape, k == keyEnter, k == keyErase:
		m.back()
	default:
		m.scrolled(k)
	}
}

// back closes what is above the list: the help, the open channel, or the map.
func (m *model) back() {
	m.scroll = 0
	switch {
	case m.help:
		m.help = false
	case m.open != 0:
		m.open, m.opened, m.wrong = 0, identity{}, nil
		m.report, m.list = m.list, nil // until the next report
	default:
		m.mapped = false
	}
}

func (m *model) scrolled(k key) {
	switch k {
	case keyUp, "k":
		m.scroll = max(0, m.scroll-1)
	case keyDown, "j":
		m.scroll++ // drawing enforces the end
	case keyNext:
		m.scroll += max(1, m.height-4)
	case keyPrevious:
		m.scroll = max(0, m.scroll-max(1, m.height-4))
	case keyHome:
		m.scroll = 0
	}
}

func (m *model) pressInList(k key) {
	switch k {
	case keyUp, "k":
		m.choose(m.row - 1)
	case keyDown, "j":
		m.choose(m.row + 1)
	case keyHome:
		m.choose(0)
	case keyEnd:
		m.choose(m.rows() - 1)
	case keyNext, "n":
		m.turnPage(1)
	case keyPrevious, "p":
		m.turnPage(-1)
	case keyEnter:
		if m.rows() > 0 {
			m.open, m.opened, m.scroll, m.help = m.chosen, identity{}, 0, false
			m.report, m.list = nil, m.report
		}
	case "/":
		m.typing, m.before = true, m.query.Filter
	case keyEscape:
		m.query.Filter, m.query.Kind, m.query.Page = "", "", 1
	case "s":
		m.query.sortBy(1)
	case "S":
		m.query.sortBy(-1)
	case "o":
		m.query.turn()
	case "t":
		m.query.nextKind()
	}
}

// maxFilter is the length limit of a filter in runes.
const maxFilter = 100

// typeFilter handles a key for the filter, which applies immediately.
func (m *model) typeFilter(k key) {
	runes := []rune(m.query.Filter)
	switch k {
	case keyEnter:
		m.typing = false
	case keyEscape:
		m.typing, m.query.Filter = false, m.before
	case keyErase:
		if len(runes) > 0 {
			m.query.Filter = string(runes[:len(runes)-1])
		}
	case keyClear:
		m.query.Filter = ""
	default:
		if r := []rune(k); len(r) == 1 && unicode.IsPrint(r[0]) && len(runes) < maxFilter {
			m.query.Filter += string(k)
		}
	}
	m.query.Page = 1
}

func (m *model) rows() int {
	if m.report == nil || m.open != 0 {
		return 0
	}
	return len(m.report.Channels)
}

// choose selects a row, or turns the page at its ends.
func (m *model) choose(row int) {
	switch {
	case m.rows() == 0:
	case row < 0:
		if m.query.Page > 1 {
			m.turnPage(-1)
			m.row = m.query.channelsOnPage - 1
		}
	case row >= m.rows():
		if m.query.Page < m.report.Pages {
			m.turnPage(1)
		}
	default:
		m.row, m.chosen = row, m.report.Channels[row].ID
	}
}

func (m *model) turnPage(by int) {
	if m.report == nil {
		return
	}
	page := max(1, min(m.query.Page+by, m.report.Pages))
	if page != m.query.Page {
		m.query.Page, m.row, m.chosen = page, 0, 0
	}
}
