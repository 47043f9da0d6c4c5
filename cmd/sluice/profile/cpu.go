package profile

import (
	"cmp"
	"errors"
	"slices"
	"time"

	pprof "github.com/google/pprof/profile"
)

// readCPU makes a CPU of a CPU profile.
func readCPU(p *pprof.Profile) (*CPU, error) {
	value := valueOf(p, "cpu")
	if unit := p.SampleType[value].Unit; unit != "nanoseconds" {
		return nil, errors.New("counts CPU time in " + unit + ", not in nanoseconds")
	}
	t := cpuTally{
		cpu:   &CPU{Window: max(0, time.Duration(p.DurationNanos)), Period: max(0, time.Duration(p.Period)), By: map[Category]time.Duration{}},
		sites: map[Site]*CPUSite{},
		users: map[string]*UserTime{},
	}
	for _, sample := range p.Sample {
		spent := time.Duration(sample.Value[value])
		if spent < 0 || t.cpu.Total+spent < t.cpu.Total {
			return nil, errors.New("has impossible CPU times")
		}
		t.add(framesOf(sample), spent)
	}
	return t.result(), nil
}

// A cpuTally adds up samples.
type cpuTally struct {
	cpu   *CPU
	sites map[Site]*CPUSite
	users map[string]*UserTime
}

func (t *cpuTally) add(s stack, spent time.Duration) {
	p := place(s)
	category := categorize(s, p)
	t.cpu.Total += spent
	t.cpu.By[category] += spent
	if category == Profiling {
		return
	}
	if op := p.site.Op; p.site.At.Function != "" && (op.Channel() || op == Lock || op == Wait) {
		site := t.sites[p.site]
		if site == nil {
			site = &CPUSite{Site: p.site}
			t.sites[p.site] = site
		}
		site.Time += spent
		switch {
		case category == ChannelLock:
			site.Lock += spent
		case op.Channel() && inWake(p.below):
			site.Wake += spent
		}
	}
	seen := map[string]bool{}
	for _, f := range s[len(p.below):] {
		if hidden(f) || seen[f.Function] {
			continue
		}
		seen[f.Function] = true
		t.user(f.Function).All += spent
	}
	if category == UserCode {
		t.user(p.site.At.Function).Self += spent
	}
}

func (t *cpuTally) user(function string) *UserTime {
	u := t.users[function]
	if u == nil {
		u = &UserTime{Function: function}
		t.users[function] = u
	}
	return u
}

func (t *cpuTally) result() *CPU {
	for _, site := range t.sites {
		t.cpu.Sites = append(t.cpu.Sites, *site)
	}
	slices.SortFunc(t.cpu.Sites, func(a, b CPUSite) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), a.Site.compare(b.Site))
	})
	for _, user := range t.users {
		t.cpu.Users = append(t.cpu.Users, *user)
	}
	slices.SortFunc(t.cpu.Users, func(a, b UserTime) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.All, a.All), cmp.Compare(a.Function, b.Function))
	})
	return t.cpu
}
