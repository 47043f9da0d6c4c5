package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Expressions about the list.
const (
	names = `[...document.querySelectorAll("#rows a")].map(a => a.textContent)`
	lines = `[...document.querySelectorAll("#rows path")].map(p => p.getAttribute("d")).join()`
	where = `document.getElementById("where").textContent`
)

// figure is an expression: the content of a channel's row in the column with
// that head.
func figure(name, head string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#rows tr")].find(r => r.querySelector("a").textContent === %s).querySelector(%s).textContent`,
		literal(name), literal(`[data-is="`+head+`"] span`))
}

// literal quotes a string for JavaScript.
func literal(s string) string {
	text, _ := json.Marshal(s) // a string always marshals
	return string(text)
}

// listed is an expression: the list contains exactly these names.
func listed(only ...string) string { return names + `.join() === ` + literal(strings.Join(only, ",")) }

// Filled complains if the list is empty.
func (s *Session) Filled() { s.until(names+".length > 0", "no channel is listed") }

// Moves complains if the rows do not change or show no figures.
func (s *Session) Moves() {
	s.Filled()
	before := eval[string](s, lines)
	s.until(lines+" !== "+literal(before), "no line moves")
	s.until(`/^[1-9]/.test(`+figure("busy/bounded", "in, values/s")+`)`, "a busy channel has no rate")
	s.until(`/^≈?[\d.]+ (ms|s|min)$/.test(`+figure("still", "oldest value")+`)`, "a value that stays queued has no age")
	s.until(figure("stuck", "senders waiting")+` === "40"`, "the list does not show 40 waiting senders")
}

// choose sets a control as a user does.
func (s *Session) choose(control, value string) {
	s.do(`(c => { c.value = %s; c.dispatchEvent(new Event("input")) })(document.getElementById(%s))`, literal(value), literal(control))
}

// Sorts complains if the list cannot be sorted, by a figure and by name.
func (s *Session) Sorts() {
	s.Filled()
	s.choose("sort", "senders")
	s.until(names+`[0] === "stuck"`, "sorting by waiting senders does not put stuck first")
	s.choose("sort", "name")
	s.choose("order", "desc")
	s.until(names+`[0] === "日本語の名前"`, "sorting by name in descending order puts the wrong channel first")
	all := eval[[]string](s, names)
	if len(s.wrong) == 0 && (len(all) < 20 || !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) })) {
		s.complain("not in descending order: %q", all)
	}
}

// Filters complains if a filter does not select exactly the matching channels.
func (s *Session) Filters() {
	s.Filled()
	s.choose("filter", "ORDERS/1")
	s.until(listed("orders/10", "orders/11"), "filtering by a part of a name selects the wrong channels")
	s.choose("filter", "")
	s.choose("kind", "elastic")
	s.until(listed("busy/elastic"), "filtering by kind selects the wrong channels")
	s.choose("filter", "nonesuch")
	s.until(`!document.getElementById("none").hidden && document.getElementById("none").textContent === "No channel matches."`, "the message for an empty list is missing")
}

// Turns complains if the user cannot page through 10,000 channels and 23
// others.
func (s *Session) Turns() {
	s.Filled()
	s.until(where+` === "page 1 of 201, 10,025 channels"`, "there are not 201 pages")
	s.until(names+".length === 50", "a page does not list 50 channels")
	s.until(`document.getElementById("previous").disabled`, "there is a page before the first")
	first := eval[[]string](s, names)
	s.do(`document.getElementById("next").click()`)
	s.until(where+`.startsWith("page 2 of 201")`, "the next page does not appear")
	for _, name := range eval[[]string](s, names) {
		if slices.Contains(first, name) {
			s.complain("%s appears on two pages", name)
		}
	}
	s.do(`document.getElementById("previous").click()`)
	s.until(where+`.startsWith("page 1 of")`, "the previous page does not appear")
}

// Names complains if a column or a figure lacks its unit or its meaning.
func (s *Session) Names() {
	s.Filled()
	s.until(`[...document.querySelectorAll("thead th")].map(h => h.textContent).join() === "Name,Kind,Fill,In values/s,Out values/s,Dropped total,Senders waiting,Receivers waiting,Oldest value,High-water mark,Memory"`, "the columns have other names")
	s.until(`/^Sharded, \d+ lanes?$/.test(`+figure("busy/sharded", "kind")+`)`, "the number of lanes has no unit")
	s.until(`/^[1-9][\d.]* (B|KiB)$/.test(`+figure("still", "memory")+`)`, "the memory of a channel is not listed")
}

// row is an expression: the row of a channel.
func row(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#rows tr")].find(r => r.querySelector("a").textContent === %s)`, literal(name))
}

// Grows complains if the list does not warn of a channel that fills up: lines is at
// 80% or more, and steady; events grows.
func (s *Session) Grows() {
	s.Filled()
	color := func(name string) string {
		return `getComputedStyle(` + row(name) + `.querySelector("[data-is=fill] span")).color`
	}
	s.until(color("lines")+" !== "+color("events"), "a channel that is 85% full has the color of others")
	s.patiently(`/^full in \d+ s$/.test(`+row("events")+`.querySelector("[data-is=fill] small").textContent)`, "a channel that grows has no time until it is full")
	s.until(row("lines")+`.querySelector("[data-is=fill] small").textContent === ""`, "a channel that does not grow has a time until it is full")
}

// Sparks complains if a row lacks a baseline at the first update, or has a dot in
// place of a line, or if a line lies outside of its row.
func (s *Session) Sparks() {
	s.Filled()
	s.until(`[...document.querySelectorAll("#rows path")].every(p => p.getAttribute("d") === "" && getComputedStyle(p.parentNode).borderBottomWidth === "1px")`, "a line is a dot, or has no baseline, at the first update")
	s.until(`[...document.querySelectorAll("#rows tr")].every(r => [...r.querySelectorAll("svg")].every(svg => {
		const a = r.getBoundingClientRect(), b = svg.getBoundingClientRect();
		return b.width > 10 && a.top <= b.top && b.bottom <= a.bottom && a.left <= b.left && b.right <= a.right;
	}))`, "a line leaves its row")
}

// Gone complains if the page of a channel does not say that the channel is gone: at the
// time when drop makes the program forget it, and when the page is opened later.
func (s *Session) Gone(drop func() error) {
	s.Open("fleeting")
	if err := drop(); err != nil {
		s.complain("%v", err)
	}
	const says = `/^this channel is gone/.test(document.getElementById("trouble").textContent)`
	s.patiently(says, "the page does not say that its channel is gone")
	s.reload()
	s.patiently(says, "a page that is opened later does not say that its channel is gone")
	s.until(`document.getElementById("name").textContent.startsWith("Channel ")`, "the page does not name the channel")
}

// Returns complains if the page does not report that the program is gone, or
// does not recover, with fresh histories, when the program is back. stop and
// start stop and start the program.
func (s *Session) Returns(stop, start func() error) {
	s.Filled()
	points := `[...document.querySelectorAll("#rows tr")].find(r => r.querySelector("a").textContent === "still").querySelector("path").getAttribute("d").split("L").length`
	s.until(points+" > 3", "no line grows")
	if err := stop(); err != nil {
		s.complain("%v", err)
	}
	s.until(`/^no connection/.test(document.getElementById("trouble").textContent)`, "the status does not report the lost connection")
	// A fresh line is short for a few updates only, which a check now and then can miss.
	s.do(`window.fewest = Infinity,
		new MutationObserver(() => { window.fewest = Math.min(window.fewest, %s) }).observe(document.getElementById("rows"), {attributes: true, childList: true, subtree: true})`, points)
	if err := start(); err != nil {
		s.complain("%v", err)
	}
	s.until(`!/^no connection/.test(document.getElementById("trouble").textContent)`, "no line moves")
	s.until("window.fewest < 4", "the page draws the history of the previous program")
	s.Moves()
}
