package profile

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"
)

// maxGoroutines bounds the counts in a file; a million goroutines take
// gigabytes of stacks.
const maxGoroutines = math.MaxInt32

// readGoroutines reads a goroutine profile in pprof format, or a leak profile,
// which has the same form.
func readGoroutines(p *pprof.Profile) (*Goroutines, error) {
	g := &Goroutines{InKnown: true}
	sites := map[Site]*GoroutineSite{}
	for _, sample := range p.Sample {
		n := sample.Value[0]
		if n < 0 || n > maxGoroutines || g.Total > maxGoroutines-int(n) {
			return nil, errors.New("impossible number of goroutines")
		}
		g.Total += int(n)
		s := framesOf(sample)
		if own(s) {
			continue
		}
		if awake(s) {
			g.Awake += int(n)
		}
		p := place(s)
		if p.site.At.Function == "" {
			continue
		}
		site := sites[p.site]
		if site == nil {
			site = &GoroutineSite{Site: p.site, Root: p.root, host: p.host}
			sites[p.site] = site
		}
		site.In += int(n)
	}
	g.collect(sites)
	return g, nil
}

// awake reports whether a goroutine with this stack runs or was preempted. One
// that was woken and has not run yet still looks parked.
func awake(s stack) bool {
	if len(s) == 0 {
		return false
	}
	switch leaf := s[0]; leaf.Package() {
	case "runtime":
		return leaf.Function != "runtime.gopark" && leaf.Function != "runtime.notetsleepg"
	case "syscall", "internal/runtime/syscall", "os/signal":
		return false
	}
	return true
}

func (g *Goroutines) collect(sites map[Site]*GoroutineSite) {
	g.Sites = make([]GoroutineSite, 0, len(sites))
	for _, site := range sites {
		g.Sites = append(g.Sites, *site)
	}
	g.sort()
}

func (g *Goroutines) sort() {
	slices.SortFunc(g.Sites, func(a, b GoroutineSite) int {
		return cmp.Or(cmp.Compare(max(b.Count(), b.Runnable), max(a.Count(), a.Runnable)), a.Site.compare(b.Site))
	})
}

// join adds the states of a text to the pprof form g. The two are different
// snapshots, so counts may differ.
func (g *Goroutines) join(text *Goroutines) *Goroutines {
	if g == nil || text == nil {
		return cmp.Or(g, text)
	}
	j := &Goroutines{Total: text.Total, States: text.States, StatesKnown: true, InKnown: true, Awake: g.Awake, StartedBy: text.StartedBy, adopted: text.adopted}
	j.Sites, text = g.adoptedBy(text)
	at := map[Site]int{}
	for i, site := range j.Sites {
		at[site.Site] = i
	}
	// A text entry without a wait state has the place of a goroutine but not
	// its operation.
	place := map[Site]int{}
	for i, site := range j.Sites {
		key := Site{At: site.At, Caller: site.Caller}
		if _, ok := place[key]; !ok {
			place[key] = i
		}
	}
	for _, site := range text.Sites {
		i, ok := at[site.Site]
		if ranged := site.Site; !ok && site.Op == Receive {
			ranged.Op = Range
			i, ok = at[ranged]
		}
		if !ok && site.Op == Other {
			i, ok = place[site.Site]
		}
		if !ok {
			j.Sites = append(j.Sites, site)
			continue
		}
		into := &j.Sites[i]
		into.Waiting += site.Waiting
		into.Runnable += site.Runnable
		into.Longest = max(into.Longest, site.Longest)
		into.NilChan = into.NilChan || site.NilChan
		into.CreatedBy = site.CreatedBy
	}
	j.sort()
	return j
}

// adoptedBy returns the sites of the pprof form g, without the goroutines of this
// module for which the text has lines of the program, and the text, with the
// number of these goroutines at each site: the two are different snapshots, and
// would count a worker twice.
func (g *Goroutines) adoptedBy(text *Goroutines) ([]GoroutineSite, *Goroutines) {
	if len(text.adopted) == 0 {
		return slices.Clone(g.Sites), text
	}
	counted := *text
	counted.Sites = slices.Clone(text.Sites)
	for i := range counted.Sites {
		if s := &counted.Sites[i]; s.host != "" {
			s.In = s.Waiting + s.Runnable
		}
	}
	return slices.DeleteFunc(slices.Clone(g.Sites), func(s GoroutineSite) bool { return len(text.adopted[s.host]) > 0 }), &counted
}

// since compares g with a snapshot taken apart earlier.
func (g *Goroutines) since(before *Goroutines, apart time.Duration) {
	g.GrowthKnown, g.Earlier, g.Apart, g.AwakeBefore = true, before.Total, apart, before.Awake
	earlier := map[Site]int{}
	g.EarlierOf = map[string]int{}
	for _, site := range before.Sites {
		if site.Root != "" {
			g.EarlierOf[site.Root] += site.Count()
		}
		if line, ok := single(g.adopted[site.At.Function]); ok {
			site.At, site.Caller = line, Frame{}
		}
		earlier[site.Site] += site.Count()
	}
	for i := range g.Sites {
		site := &g.Sites[i]
		site.Earlier = earlier[site.Site]
		if site.Earlier == 0 && site.host != "" {
			site.Earlier = site.Count() // several lines started such goroutines: which of them is unknown in the earlier snapshot
		}
	}
}
