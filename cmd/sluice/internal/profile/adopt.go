package profile

import "slices"

// Goroutines that this module starts, such as the workers of a pool, have no line
// of the program on their stack while they wait. They are adopted:
//
//   - their line is the one that started them: a go statement, or the
//     line at which the goroutine that started them called this module;
//   - their start function is the function of the program that they call, such
//     as the f of workers.Run; or the function of that line, if no profile shows
//     them in f.
//
// Only the text of the goroutines has creators. Its lines also serve the other
// profiles, if all goroutines that a function of this module runs have the same
// line.

// hosted are the goroutines of a text that this module may have started.
type hosted struct {
	waiting []pending
	working []pending                  // those that call a function of the program
	at      map[uint64]Frame           // the lines of the program that call this module, by goroutine
	created map[uint64]*goroutine      // those without such a line, by number
	calls   map[uint64]map[string]bool // functions of the program that the goroutines call, by the number of the creator
	lines   map[string]map[Frame]bool  // lines that started goroutines, by the function of this module that these run
}

// A pending is a goroutine without a line of the program.
type pending struct {
	*goroutine
	placed
}

func newHosted() *hosted {
	return &hosted{
		at: map[uint64]Frame{}, created: map[uint64]*goroutine{}, calls: map[uint64]map[string]bool{}, lines: map[string]map[Frame]bool{},
	}
}

// see records what the goroutine shows about goroutines that this module starts.
func (h *hosted) see(g *goroutine, p *placed) {
	switch {
	case p.anonymous():
		h.created[g.id] = g
	case p.host != "" && g.creator != 0:
		add(h.calls, g.creator, p.root)
		h.working = append(h.working, pending{g, *p})
	case slices.ContainsFunc(p.below, library):
		h.at[g.id] = p.site.At
	}
}

// maxCreators limits the chain from a goroutine to a line of the program.
const maxCreators = 8

// line returns the line of the program that started g, if it is known.
func (h *hosted) line(g *goroutine) (line Frame, known bool) {
	for range maxCreators {
		if by := g.createdBy; by.Function != "" && !hidden(by) && !library(by) && !between(by) {
			return by, true
		}
		if line, known = h.at[g.creator]; known {
			return line, true
		}
		if g = h.created[g.creator]; g == nil {
			break
		}
	}
	return Frame{}, false
}

// adopt replaces the line and the start function of a goroutine.
func (h *hosted) adopt(one *pending) {
	line, known := h.line(one.goroutine)
	if !known {
		return
	}
	add(h.lines, one.site.At.Function, line)
	one.site.At, one.site.Caller = line, Frame{}
	if root, ok := single(h.calls[one.creator]); ok {
		one.root = root
	}
}

func add[K, V comparable](to map[K]map[V]bool, key K, value V) {
	if to[key] == nil {
		to[key] = map[V]bool{}
	}
	to[key][value] = true
}

// single returns the element of a set of one.
func single[V comparable](set map[V]bool) (only V, ok bool) {
	for v := range set {
		only = v
	}
	return only, len(set) == 1
}

// adopt gives all profiles of c the lines and start functions of the program in
// place of the functions of this module.
func (c *Capture) adopt() {
	roots := map[string]map[string]bool{} // by host
	c.eachStage(func(host, root *string) {
		if *host != "" && *root != *host {
			add(roots, *host, *root)
		}
	})
	lines := map[string]map[Frame]bool{}
	if c.Goroutines != nil {
		lines = c.Goroutines.adopted
	}
	c.eachSite(func(s *Site) {
		if line, ok := single(lines[s.At.Function]); ok {
			s.At, s.Caller = line, Frame{}
		}
	})
	c.eachStage(func(host, root *string) {
		if *host == "" || *root != *host {
			return
		}
		if f, ok := single(roots[*host]); ok {
			*root = f
		}
	})
	if g := c.Goroutines; g != nil {
		for i := range g.Sites {
			if s := &g.Sites[i]; s.host != "" && s.Root == s.host && !library(s.At) {
				s.Root = s.At.Function
			}
		}
	}
	c.mergeStages()
}

// eachStage calls f for the start functions in all profiles.
func (c *Capture) eachStage(f func(host, root *string)) {
	if c.CPU != nil {
		for i := range c.CPU.Stages {
			f(&c.CPU.Stages[i].host, &c.CPU.Stages[i].Root)
		}
	}
	for _, t := range []*Trace{c.Trace, c.Glimpse} {
		if t == nil {
			continue
		}
		for i := range t.Stages {
			f(&t.Stages[i].host, &t.Stages[i].Root)
		}
	}
	if c.Goroutines != nil {
		for i := range c.Goroutines.Sites {
			f(&c.Goroutines.Sites[i].host, &c.Goroutines.Sites[i].Root)
		}
	}
}

// eachSite calls f for the sites in all profiles.
func (c *Capture) eachSite(f func(*Site)) {
	if c.CPU != nil {
		for i := range c.CPU.Sites {
			f(&c.CPU.Sites[i].Site)
		}
	}
	for _, p := range []*Contentions{c.Mutex, c.Block} {
		if p == nil {
			continue
		}
		for i := range p.Sites {
			f(&p.Sites[i].Site)
		}
	}
	if c.Goroutines != nil {
		for i := range c.Goroutines.Sites {
			f(&c.Goroutines.Sites[i].Site)
		}
	}
	for _, t := range []*Trace{c.Trace, c.Glimpse} {
		if t == nil {
			continue
		}
		for i := range t.Sites {
			f(&t.Sites[i].Site)
		}
		for i := range t.Pairs {
			f(&t.Pairs[i].Waker)
			f(&t.Pairs[i].Sleeper)
		}
	}
}

// mergeStages adds up stages that have the same start function now.
func (c *Capture) mergeStages() {
	if c.CPU != nil {
		merged := map[string]int{}
		stages := c.CPU.Stages[:0]
		for _, s := range c.CPU.Stages {
			if at, ok := merged[s.Root]; ok {
				stages[at].Work += s.Work
				stages[at].Channel += s.Channel
				continue
			}
			merged[s.Root] = len(stages)
			stages = append(stages, s)
		}
		c.CPU.Stages = stages
	}
	for _, t := range []*Trace{c.Trace, c.Glimpse} {
		if t != nil {
			t.mergeStages()
		}
	}
}

func (t *Trace) mergeStages() {
	merged := map[string]int{}
	stages := t.Stages[:0]
	for _, s := range t.Stages {
		if at, ok := merged[s.Root]; ok {
			into := &stages[at]
			into.Count, into.Running, into.Runnable, into.Waiting = into.Count+s.Count, into.Running+s.Running, into.Runnable+s.Runnable, into.Waiting+s.Waiting
			continue
		}
		merged[s.Root] = len(stages)
		stages = append(stages, s)
	}
	t.Stages = stages
}
