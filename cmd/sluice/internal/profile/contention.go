package profile

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"
)

// readContentions reads a mutex or block profile, which covers the life of the
// process.
func readContentions(p *pprof.Profile) (*Contentions, error) {
	count, delay := valueOf(p, "contentions"), valueOf(p, "delay")
	if count < 0 || p.SampleType[delay].Unit != "nanoseconds" {
		return nil, errors.New("not a mutex or block profile of a Go program")
	}
	c := &Contentions{}
	sites := map[Site]*Contention{}
	for _, sample := range p.Sample {
		s := framesOf(sample)
		into := &c.Runtime
		if own(s) {
			into = &c.Own
		} else if site, ok := contended(s); ok {
			if into = sites[site]; into == nil {
				into = &Contention{Site: site}
				sites[site] = into
			}
		}
		if !into.add(sample.Value[count], sample.Value[delay]) {
			return nil, errors.New("impossible counts or times")
		}
	}
	c.Sites = make([]Contention, 0, len(sites))
	for _, site := range sites {
		c.Sites = append(c.Sites, *site)
	}
	c.sort()
	return c, nil
}

// contended returns the operation in a stack of a mutex or block profile. It
// returns false for a stack without an operation of the program, and for a lock
// of the scheduler that was contended while a channel operation woke a
// goroutine.
func contended(s stack) (Site, bool) {
	p := place(s)
	if p.site.At.Function == "" {
		return Site{}, false
	}
	if len(p.below) > 0 && locking(p.below[0].Function) && !(p.site.Op.Channel() && p.inLock()) {
		return Site{}, false
	}
	return p.site, true
}

// add adds to c, and reports whether the sum is possible.
func (c *Contention) add(count, delay int64) bool {
	if count < 0 || delay < 0 || c.Count > math.MaxInt64-count || int64(c.Delay) > math.MaxInt64-delay {
		return false
	}
	c.Count += count
	c.Delay += time.Duration(delay)
	return true
}

// since returns the difference to before, which was read apart earlier.
func (c *Contentions) since(before *Contentions, apart time.Duration) *Contentions {
	earlier := map[Site]Contention{}
	for _, site := range before.Sites {
		earlier[site.Site] = site
	}
	d := &Contentions{Window: apart, Runtime: c.Runtime.less(before.Runtime), Own: c.Own.less(before.Own)}
	for _, site := range c.Sites {
		if left := site.less(earlier[site.Site]); left.Count > 0 || left.Delay > 0 {
			d.Sites = append(d.Sites, left)
		}
	}
	d.sort()
	return d
}

// less returns c minus earlier. Sampled counts are scaled, and may shrink by
// rounding.
func (c Contention) less(earlier Contention) Contention {
	c.Count = max(0, c.Count-earlier.Count)
	c.Delay = max(0, c.Delay-earlier.Delay)
	return c
}

func (c *Contentions) sort() {
	slices.SortFunc(c.Sites, func(a, b Contention) int {
		return cmp.Or(cmp.Compare(b.Delay, a.Delay), a.Site.compare(b.Site))
	})
}
