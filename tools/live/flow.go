package live

import (
	"fmt"
	"slices"
	"strings"
)

// Expressions about the map.
const (
	sentence = `document.getElementById("sentence").textContent`
	places   = `[...document.querySelectorAll("#nodes .node")].map(n => n.querySelector(".name").textContent + JSON.stringify(n.getBoundingClientRect())).join()`
)

// boxes is a script that returns what is wrong with the boxes of the map: overlaps,
// boxes outside, and texts that do not fit.
const boxes = `(() => {
	const wrong = [], nodes = [...document.querySelectorAll("#nodes .node")], space = document.getElementById("flow").getBoundingClientRect();
	const name = n => n.querySelector(".name").textContent, box = n => n.getBoundingClientRect();
	nodes.forEach((a, i) => {
		const p = box(a);
		if (p.left < space.left - 1 || p.right > space.right + 1 || p.top < space.top - 1 || p.bottom > space.bottom + 1) wrong.push(name(a) + " is outside of the map");
		if (p.width < 60 || p.height < 30) wrong.push(name(a) + " is too small");
		for (const b of nodes.slice(i + 1)) {
			const q = box(b);
			if (p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom) wrong.push(name(a) + " overlaps " + name(b));
		}
		const inner = a.firstElementChild;
		if (inner.scrollHeight > inner.clientHeight + 1) wrong.push(name(a) + " does not fit into its box");
		if ([...inner.querySelectorAll("span")].some(s => s.scrollHeight > s.clientHeight + 1)) wrong.push("a text of " + name(a) + " does not fit into its box");
		const parts = [...inner.querySelectorAll("span:not(.head)")].filter(s => s.textContent && s.offsetParent).map(s => [s, s.getBoundingClientRect()]);
		for (const [s, r] of parts) {
			if (s.scrollWidth > s.clientWidth + 1 && !s.matches(".name, .ends")) wrong.push("the text " + s.textContent + " of " + name(a) + " is cut off");
			for (const [other, q] of parts) {
				if (s !== other && r.left < q.right - 1 && q.left < r.right - 1 && r.top < q.bottom - 3 && q.top < r.bottom - 3) wrong.push("the texts " + s.textContent + " and " + other.textContent + " overlap");
			}
		}
	});
	return wrong;
})()`

// Mapped complains if the map does not show that many stages and channels, or if a box
// overlaps another one, or does not fit.
func (s *Session) Mapped(stages, channels int) {
	s.until(fmt.Sprintf(`document.querySelectorAll("#nodes .stage").length === %d && document.querySelectorAll("#nodes .channel").length === %d`, stages, channels),
		fmt.Sprintf("the map does not show %d stages and %d channels", stages, channels))
	s.until("document.getAnimations().length === 0", "the boxes do not come to rest")
	for _, wrong := range eval[[]string](s, boxes) {
		s.complain("%s", wrong)
	}
}

// onMap is an expression: the box of the stage or channel with that name.
func onMap(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#nodes .node")].find(n => n.querySelector(".name").textContent === %s)`, literal(name))
}

// Stays complains if a box moves although only figures change, or if boxes change
// places when a box is added. change makes figures of the page's flow change, and add adds a channel.
func (s *Session) Stays(change, add func()) {
	s.until(`document.querySelectorAll("#nodes .node").length === 14`, "the map does not show 14 boxes")
	s.until("document.getAnimations().length === 0", "the boxes do not come to rest")
	before := eval[string](s, places)
	change()
	s.patiently(onMap("main.accept")+`.textContent.includes("6K")`, "no figure of the map changes")
	if after := eval[string](s, places); after != before {
		s.complain("boxes move although only figures change: %s, before %s", after, before)
	}
	const order = `[...document.querySelectorAll("#nodes .node")].map(n => [n.querySelector(".name").textContent, n.getBoundingClientRect()])
		.filter(([name]) => name !== "priority").sort(([, a], [, b]) => Math.round((a.x - b.x) / 9) || a.y - b.y).map(([name]) => name).join()`
	names := eval[string](s, order)
	add()
	s.patiently(`document.querySelectorAll("#nodes .node").length === 15`, "a new channel does not appear")
	s.until("document.getAnimations().length === 0", "the boxes do not come to rest")
	if after := eval[string](s, order); after != names {
		s.complain("a new channel changes the order of the others: %s, before %s", after, names)
	}
}

// Still complains if boxes move for a user who prefers reduced motion.
func (s *Session) Still() {
	s.Mapped(3, 2)
	s.until(`document.querySelectorAll("#nodes .node").length === 5`, "the map is empty")
	s.until(`document.querySelectorAll("#nodes .drawn").length > 0`, "no bar is drawn")
	s.until(`[...document.querySelectorAll("#nodes .node, #nodes i, #wires path")].every(e => getComputedStyle(e).transitionDuration === "0s")`, "boxes move although the user prefers reduced motion")
}

// First complains if a bar moves when it is drawn for the first time, which shows a wrong
// fill meanwhile, or does not fill from the left.
func (s *Session) First() {
	s.Mapped(6, 8)
	s.until(`[...document.querySelectorAll("#nodes i")].every(i => getComputedStyle(i).transitionDuration === "0s")`, "a bar moves when it is drawn first")
	s.until(`[...document.querySelectorAll("#nodes i")].every(i => getComputedStyle(i).transformOrigin.startsWith("0px"))`, "a bar does not fill from the left")
}

// Accessible complains if the map cannot be used with a keyboard or a screen reader.
// The sentence of the page's flow does not change.
func (s *Session) Accessible() {
	s.Mapped(6, 8)
	s.until(`document.getElementById("sentence").getAttribute("aria-live") === "polite"`, "a screen reader does not announce the sentence")
	s.until(`[...document.querySelectorAll("#nodes .node > *")].every(e => (e.focus(), document.activeElement === e))`, "a box cannot have the focus")
	s.until(`[...document.querySelectorAll("#nodes .channel > *")].some(e => /^Channel orders, behind it is the bottleneck, from .* to main.validate, 200 of 200, .*3 senders wait, full$/.test(e.getAttribute("aria-label")))`, "a channel has no description")
	s.until(`[...document.querySelectorAll("#nodes .stage > *")].some(e => /^Stage main.validate, the bottleneck, /.test(e.getAttribute("aria-label")))`, "a stage has no description")
	s.do(`(() => { window.said = 0; new MutationObserver(() => window.said++).observe(document.getElementById("sentence"), { childList: true, characterData: true, subtree: true }) })()`)
	now := eval[string](s, status)
	s.until(status+" !== "+literal(now), "the page is not updated")
	s.until("window.said === 0", "a screen reader announces a sentence that did not change")
}

const status = `document.getElementById("status").textContent`

// Marked complains if the bottleneck, drops or a closed channel are not marked with
// words.
func (s *Session) Marked() {
	s.Mapped(6, 8)
	for name, sign := range map[string]string{"main.validate": "bottleneck", "orders": "full", "samples": "✕ drops", "configuration": "⊘ closed"} {
		s.until(fmt.Sprintf(`%s.querySelector(".sign").offsetParent && %[1]s.querySelector(".sign").textContent === %[2]s`, onMap(name), literal(sign)), name+" has no sign "+sign)
	}
	s.until(`document.querySelectorAll("#nodes .held").length === 2`, "the map does not highlight one stage and one channel")
	s.until(`getComputedStyle(`+onMap("enriched")+`.querySelector("i")).backgroundColor !== getComputedStyle(`+onMap("valid orders")+`.querySelector("i")).backgroundColor`, "a channel that fills up has the same color as others")
	s.until(onMap("Server.decode")+`.querySelector(".through").textContent === "in 8K/s, out 7.95K/s"`, "the method of a stage is cut off, or its rates do not say which is which")
	s.until(onMap("orders")+`.textContent.includes("oldest ")`, "an age does not say whose it is")
	s.until(`/, 120 values\/s dropped$/.test(`+onMap("samples")+`.firstElementChild.title)`, "a loss has no unit")
	s.until(onMap("retries")+`.textContent.includes("20 queued")`, "a channel without a limit does not show its length")
	s.until(`document.getElementById("unplaced").textContent.includes("idle, shutdown")`, "the page does not name channels that are not on the map")
	s.do(`%s.firstElementChild.click()`, onMap("main.validate"))
	s.until(`document.getElementById("stage").textContent.endsWith("main.validate: example.com/service/main.validate, /src/service/main.go:60")`, "a click on a stage does not show where it is")
	s.do(`%s.firstElementChild.click()`, onMap("orders"))
	s.until(`/[?]channel=2$/.test(location.href)`, "a click on a channel does not open its page")
}

func join(names ...string) string {
	slices.Sort(names)
	return strings.Join(names, ",")
}

// Follows complains if the sentence and the highlight do not follow the bottleneck.
// slow makes a stage slow.
func (s *Session) Follows(slow func(stage string) error) {
	for _, step := range []struct{ stage, channel, says string }{
		{"parse", "lines", "parse is the slowest stage: lines is full"},
		{"enrich", "events", "enrich is the slowest stage: events is full"},
		{"read", "lines", "read sets the pace: lines is empty"},
		{"parse", "lines", "parse is the slowest stage: lines is full"},
	} {
		if err := slow(step.stage); err != nil {
			s.complain("%v", err)
		}
		s.patiently(sentence+`.startsWith(`+literal(step.says)+`)`, "the sentence does not say that "+step.says)
		s.until(`[...document.querySelectorAll("#nodes .held .name")].map(n => n.textContent).sort().join() === `+literal(join(step.stage, step.channel)), "the map does not highlight "+step.stage+" and "+step.channel)
	}
}
