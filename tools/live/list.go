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
	s.until(`/^[1-9]/.test(`+figure("busy/bounded", "in")+`)`, "a busy channel has no rate")
	s.until(`/^[\d.]+ (ms|s|min)$/.test(`+figure("still", "oldest value")+`)`, "a value that stays queued has no age")
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

// Turns complains if the user cannot page through 10,000 channels and 22
// others.
func (s *Session) Turns() {
	s.Filled()
	s.until(where+` === "page 1 of 201, 10,022 channels"`, "there are not 201 pages")
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
	s.until(`/^no connection/.test(document.getElementById("status").textContent)`, "the status does not report the lost connection")
	if err := start(); err != nil {
		s.complain("%v", err)
	}
	s.until(`!/^no connection/.test(document.getElementById("status").textContent)`, "no line moves")
	s.until(points+" < 4", "the page draws the history of the previous program")
	s.Moves()
}
