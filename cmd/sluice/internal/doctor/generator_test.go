package doctor

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/profile"
)

// TestGenerator: a goroutine that makes values for the one that started it can
// be a call. A source that main started, one that several share, one that reads
// a file, and a stage between two others are no generators.
func TestGenerator(t *testing.T) {
	lex, parse := at(profile.Send, "lex"), at(profile.Range, "parse")
	const maker, user = "example.com/q.lex", "example.com/q.parse"
	base := []part{
		cpu(1.9, shares{profile.ChannelWork: 0.45, profile.ChannelLock: 0.05, profile.AfterPark: 0.2, profile.UserCode: 0.3}, on{lex, 0.25, 0.02, 0.1}, on{parse, 0.25, 0.03, 0.1}),
		func(c *profile.Capture) {
			c.CPU.Sites[0].Roots, c.CPU.Sites[1].Roots = []string{maker}, []string{user}
			c.CPU.Stages = []profile.CPUStage{{Root: maker, Work: secs(3), Channel: secs(5)}, {Root: user, Work: secs(3), Channel: secs(5)}}
			goroutinesAt(rooted(lex, 2, 1, "lex"), rooted(parse, 2, 0, "parse"))(c)
			c.Goroutines.StartedBy = map[string]map[string]int{maker: {user: 2}}
		},
	}
	for name, test := range map[string]struct {
		change part
		want   bool
	}{
		"a lexer":           {func(*profile.Capture) {}, true},
		"started elsewhere": {func(c *profile.Capture) { c.Goroutines.StartedBy[maker] = map[string]int{"main.main": 2} }, false},
		"several makers":    {func(c *profile.Capture) { c.Goroutines.Sites[0].In = 8 }, false},
		"a reader": {func(c *profile.Capture) {
			c.Goroutines.Sites = append(c.Goroutines.Sites, rooted(sink, 1, 1, "lex"))
		}, false},
		"a stage": {func(c *profile.Capture) {
			c.CPU.Sites = append(c.CPU.Sites, profile.CPUSite{Site: at(profile.Range, "lex"), Time: secs(1), Roots: []string{maker}})
		}, false},
		"rarely parks": {func(c *profile.Capture) {
			c.CPU.By[profile.AfterPark], c.CPU.Sites[0].Wake, c.CPU.Sites[1].Wake = 0, 0, 0
		}, false},
	} {
		d := diagnose(append(base, test.change)...)
		f := d.found(Generator)
		if (f != nil) != test.want || f != nil && (d.Verdict != Yes || f.Best() == nil || f.Best().Name != Fuse || f.Best().Gain.High < 2.5 || f.Best().Gain.Low > 2.5) {
			t.Errorf("%s: %s %+v", name, d.Answer, f)
		}
	}
}
