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

// figure is an expression: what stands in a channel's row under a head.
func figure(name, head string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#rows tr")].find(r => r.querySelector("a").textContent === %s).querySelector(%s).textContent`,
		literal(name), literal(`[data-is="`+head+`"] span`))
}

// literal is a string as the script's language has it.
func literal(s string) string {
	text, _ := json.Marshal(s) // a string can be written
	return string(text)
}

// listed is an expression: these names are listed, and no others.
func listed(only ...string) string { return names + `.join() === ` + literal(strings.Join(only, ",")) }

// Filled complains if the list has nothing in it.
func (s *Session) Filled() { s.until(names+".length > 0", "no channel is listed") }

// Moves complains if rows stand still, or say nothing.
func (s *Session) Moves() {
	s.Filled()
	before := eval[string](s, lines)
	s.until(lines+" !== "+literal(before), "no line moves")
	s.until(`/^[1-9]/.test(`+figure("busy/bounded", "in")+`)`, "a busy channel has no rate")
	s.until(figure("stuck", "senders waiting")+` === "40"`, "40 senders wait, and it is not said")
}

// choose sets a control as a person does.
func (s *Session) choose(control, value string) {
	s.do(`(c => { c.value = %s; c.dispatchEvent(new Event("input")) })(document.getElementById(%s))`, literal(value), literal(control))
}

// Sorts complains if the list cannot be sorted, by a figure and by name.
func (s *Session) Sorts() {
	s.Filled()
	s.choose("sort", "senders")
	s.until(names+`[0] === "stuck"`, "sorted by waiting senders, another one is the first")
	s.choose("sort", "name")
	s.choose("order", "desc")
	s.until(names+`[0] === "日本語の名前"`, "sorted by name in descending order, another one is the first")
	all := eval[[]string](s, names)
	if len(s.wrong) == 0 && (len(all) < 20 || !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) })) {
		s.complain("not in descending order: %q", all)
	}
}

// Filters complains if the filter does not find what it should, and only that.
func (s *Session) Filters() {
	s.Filled()
	s.choose("filter", "ORDERS/1")
	s.until(listed("orders/10", "orders/11"), "a part of a name finds other channels")
	s.choose("filter", "")
	s.choose("kind", "elastic")
	s.until(listed("busy/elastic"), "a kind finds other channels")
	s.choose("filter", "nonesuch")
	s.until(`!document.getElementById("none").hidden && document.getElementById("none").textContent === "No channel matches."`, "it is not said that nothing matches")
}

// Turns complains if 10,000 channels, and 22 others, cannot be paged through.
func (s *Session) Turns() {
	s.Filled()
	s.until(where+` === "page 1 of 201, 10,022 channels"`, "there are not 201 pages")
	s.until(names+".length === 50", "a page has not 50 channels")
	s.until(`document.getElementById("previous").disabled`, "there is a page before the first")
	first := eval[[]string](s, names)
	s.do(`document.getElementById("next").click()`)
	s.until(where+`.startsWith("page 2 of 201")`, "the next page does not come")
	for _, name := range eval[[]string](s, names) {
		if slices.Contains(first, name) {
			s.complain("%s is on two pages", name)
		}
	}
	s.do(`document.getElementById("previous").click()`)
	s.until(where+`.startsWith("page 1 of")`, "the page before does not come back")
}

// Returns complains if the page does not say that the program is gone, or does not come
// back with it, without a past. stop and start do that to the program.
func (s *Session) Returns(stop, start func() error) {
	s.Filled()
	points := `[...document.querySelectorAll("#rows tr")].find(r => r.querySelector("a").textContent === "still").querySelector("path").getAttribute("d").split("L").length`
	s.until(points+" > 3", "no line grows")
	if err := stop(); err != nil {
		s.complain("%v", err)
	}
	s.until(`/^no connection/.test(document.getElementById("status").textContent)`, "it is not said that the program is gone")
	if err := start(); err != nil {
		s.complain("%v", err)
	}
	s.until(`!/^no connection/.test(document.getElementById("status").textContent)`, "no line moves")
	s.until(points+" < 4", "the past of another program is drawn")
	s.Moves()
}
