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

const lanes = `+(/(\d+) lanes?/.exec(document.getElementById("words").textContent)?.[1] || 99)`

// inside has what must be true on the page of a channel, each with the complaint.
var inside = map[string][][2]string{
	"still": { // a ring of 16 slots
		{drawn(".slot", 16), "the ring does not have 16 slots"},
		{drawn(".slot.filled", 5), "the ring does not have 5 filled slots"},
		{says("send index 5"), "the send index is not 5"},
		{says("receive index 0"), "the receive index is not 0"},
		{drawn(".send", 2) + " && " + drawn(".receive", 2), "an index has no arrow, or none in the legend"},
		{drawn(".waiter", 0), "a waiter is drawn"},
	},
	"stuck": {
		{`document.querySelectorAll("#inside .waiter").length >= 4`, "waiters are not drawn"},
		{says("40 waiting to send"), "the caption does not show 40 waiting senders"},
		{says("+ 36"), "the drawing does not show the remaining 36 waiters"},
		{`[...document.querySelectorAll("#senders li")].filter(li => /^[\d.]+ (s|ms|min)$/.test(li.textContent)).length === 40`, "the list does not show 40 durations"},
	},
	"busy/rendezvous": {
		{says("hand-off"), "a rendezvous is not drawn as one"},
		{drawn(".filled", 0), "a rendezvous has slots"},
	},
	"busy/elastic": {
		{drawn("rect.filled", 1), "an elastic channel has no tank"},
		{drawn(".mark", 1), "the high-water mark is missing"},
		{says("limit 10"), "the limit is missing"},
	},
	"busy/sharded": {
		{`document.querySelectorAll("#inside rect.slot:not(.filled)").length >= Math.min(12, ` + lanes + `)`, "a lane is not drawn"},
		{`document.querySelectorAll("#lanes li").length >= ` + lanes, "a lane is not listed"},
	},
}

// Inside returns a check that complains if the page of a channel draws it incorrectly.
func Inside(channel string) func(*Session) {
	return func(s *Session) {
		s.Open(channel)
		for _, is := range inside[channel] {
			s.until(is[0], is[1])
		}
	}
}
