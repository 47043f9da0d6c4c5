package live

import "fmt"

// Open complains if the name of a channel does not lead to its own page.
func (s *Session) Open(name string) {
	s.until(names+".includes("+literal(name)+")", name+" is not listed")
	s.do(`[...document.querySelectorAll("#rows a")].find(a => a.textContent === %s).click()`, literal(name))
	s.until(`document.getElementById("name")?.textContent === `+literal(name), name+" has no page of its own")
}

// drawn is an expression: so many elements of the drawing match.
func drawn(selector string, n int) string {
	return fmt.Sprintf(`document.querySelectorAll(%s).length === %d`, literal("#inside "+selector), n)
}

// says is an expression: the drawing, or the words below it, contain this.
func says(text string) string {
	return `(document.getElementById("words").textContent + document.getElementById("inside").textContent).includes(` + literal(text) + `)`
}

// Ring complains if the ring of a channel of 16 slots, of which five are filled, is drawn
// otherwise.
func (s *Session) Ring() {
	s.Open("still")
	s.until(drawn(".slot", 16), "there are not 16 slots")
	s.until(drawn(".slot.filled", 5), "there are not 5 filled ones")
	s.until(says("send index 5"), "the send index is not 5")
	s.until(says("receive index 0"), "the receive index is not 0")
	s.until(drawn(".send", 2)+" && "+drawn(".receive", 2), "an index has no arrow, or none beside its words")
	s.until(drawn(".waiter", 0), "somebody waits")
}

// Waiters complains if 40 who wait to send are not drawn.
func (s *Session) Waiters() {
	s.Open("stuck")
	s.until(`document.querySelectorAll("#inside .waiter").length >= 4`, "waiters are not drawn")
	s.until(says("40 wait to send"), "it is not said that 40 wait")
	s.until(says("+ 36"), "it is not drawn that there are more")
	s.until(`[...document.querySelectorAll("#senders li")].filter(li => /^[\d.]+ (s|ms|min)$/.test(li.textContent)).length === 40`, "it is not said for how long each of the 40 waits")
}

// HandOver complains if a channel without slots is drawn otherwise.
func (s *Session) HandOver() {
	s.Open("busy/rendezvous")
	s.until(says("hand over"), "a rendezvous is not drawn as one")
	s.until(drawn(".filled", 0), "a rendezvous has slots")
}

// Tank complains if an elastic channel is drawn otherwise.
func (s *Session) Tank() {
	s.Open("busy/elastic")
	s.until(drawn("rect.filled", 1), "an elastic channel has no tank")
	s.until(drawn(".mark", 1), "there is no high-water mark")
	s.until(says("limit 10"), "the limit is not said")
}

// Lanes complains if the lanes of a sharded channel are not all drawn.
func (s *Session) Lanes() {
	s.Open("busy/sharded")
	const lanes = `+(/(\d+) lanes?/.exec(document.getElementById("words").textContent)?.[1] || 99)`
	s.until(`document.querySelectorAll("#inside rect.slot:not(.filled)").length >= Math.min(12, `+lanes+`)`, "a lane is not drawn")
	s.until(`document.querySelectorAll("#lanes li").length >= `+lanes, "a lane is not listed")
}
