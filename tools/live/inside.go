package live

import "fmt"

// Open complains if the name of a channel does not lead to the channel's own
// page.
func (s *Session) Open(name string) {
	s.until(names+".includes("+literal(name)+")", name+" is not listed")
	s.do(`[...document.querySelectorAll("#rows a")].find(a => a.textContent === %s).click()`, literal(name))
	s.until(`document.getElementById("name")?.textContent === `+literal(name), name+" has no page of its own")
}

// drawn is an expression: exactly n elements of the drawing match.
func drawn(selector string, n int) string {
	return fmt.Sprintf(`document.querySelectorAll(%s).length === %d`, literal("#inside "+selector), n)
}

// says is an expression: the drawing, or the caption below it, contains the
// text.
func says(text string) string {
	return `(document.getElementById("words").textContent + document.getElementById("inside").textContent).includes(` + literal(text) + `)`
}

// Ring complains if the ring of a channel with 16 slots, 5 of them filled, is
// drawn incorrectly.
func (s *Session) Ring() {
	s.Open("still")
	s.until(drawn(".slot", 16), "the ring does not have 16 slots")
	s.until(drawn(".slot.filled", 5), "the ring does not have 5 filled slots")
	s.until(says("send index 5"), "the send index is not 5")
	s.until(says("receive index 0"), "the receive index is not 0")
	s.until(drawn(".send", 2)+" && "+drawn(".receive", 2), "an index has no arrow, or none in the legend")
	s.until(drawn(".waiter", 0), "a waiter is drawn")
}

// Waiters complains if 40 waiting senders are not drawn.
func (s *Session) Waiters() {
	s.Open("stuck")
	s.until(`document.querySelectorAll("#inside .waiter").length >= 4`, "waiters are not drawn")
	s.until(says("40 waiting to send"), "the caption does not show 40 waiting senders")
	s.until(says("+ 36"), "the drawing does not show the remaining 36 waiters")
	s.until(`[...document.querySelectorAll("#senders li")].filter(li => /^[\d.]+ (s|ms|min)$/.test(li.textContent)).length === 40`, "the list does not show 40 durations")
}

// HandOff complains if a channel without slots is drawn incorrectly.
func (s *Session) HandOff() {
	s.Open("busy/rendezvous")
	s.until(says("hand-off"), "a rendezvous is not drawn as one")
	s.until(drawn(".filled", 0), "a rendezvous has slots")
}

// Tank complains if an elastic channel is drawn incorrectly.
func (s *Session) Tank() {
	s.Open("busy/elastic")
	s.until(drawn("rect.filled", 1), "an elastic channel has no tank")
	s.until(drawn(".mark", 1), "the high-water mark is missing")
	s.until(says("limit 10"), "the limit is missing")
}

// Lanes complains if a lane of a sharded channel is not drawn or not listed.
func (s *Session) Lanes() {
	s.Open("busy/sharded")
	const lanes = `+(/(\d+) lanes?/.exec(document.getElementById("words").textContent)?.[1] || 99)`
	s.until(`document.querySelectorAll("#inside rect.slot:not(.filled)").length >= Math.min(12, `+lanes+`)`, "a lane is not drawn")
	s.until(`document.querySelectorAll("#lanes li").length >= `+lanes, "a lane is not listed")
}
