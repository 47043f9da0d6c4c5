package predict

import (
	"slices"
	"testing"
)

func TestBeside(t *testing.T) {
	for _, tt := range []struct {
		version, arch string
		first         string   // machine of the first curve
		has           []string // machines
	}{
		{"Go 1.26.8", "arm64", "linux/arm64, 124 CPUs", []string{"AWS c6g.metal Graviton2 64 cores", "Apple M1 8 cores darwin/arm64"}},
		{"Go 1.26.8", "amd64", "linux/arm64, 124 CPUs", []string{"AWS c6g.metal Graviton2 64 cores", "i7-13700H 6P+8E 20 threads linux/amd64"}},
		{"Go 1.23", "arm64", "AWS c6g.metal Graviton2 64 cores", []string{"128-core server"}},
	} {
		found := Beside(Published(), tt.version, tt.arch)
		if len(found) == 0 || len(found) > mostBeside || found[0].Machine != tt.first || !found[0].SameLock {
			t.Fatalf("%s, %s: %+v, want %s first", tt.version, tt.arch, found, tt.first)
		}
		older := false
		for _, n := range found {
			if n.SameLock != (generation(n.Version) == generation(tt.version)) || n.SameArch != (architecture(n.Machine) == tt.arch) {
				t.Errorf("%s, %s: %+v says wrongly what it shares", tt.version, tt.arch, n)
			}
			if older && n.SameLock {
				t.Errorf("%s, %s: %s comes after those with another lock", tt.version, tt.arch, n.Machine)
			}
			older = older || !n.SameLock
			if generation(n.Version) == notGo || n.Kind != Shared || n.Source == "" || len(n.Points) < 2 {
				t.Errorf("%+v is no Go channel with a curve and a source", n)
			}
		}
		for _, machine := range tt.has {
			if !slices.ContainsFunc(found, func(n Neighbor) bool { return n.Machine == machine }) {
				t.Errorf("%s, %s: %s is missing", tt.version, tt.arch, machine)
			}
		}
	}
	if found := Beside(nil, "Go 1.26", "amd64"); len(found) != 0 {
		t.Errorf("of nothing: %+v", found)
	}
}
