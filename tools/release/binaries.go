package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A platform is what a binary is built for.
type platform struct{ system, architecture string }

var platforms = []platform{
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"linux", "amd64"}, {"linux", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// name is the name of the binary of a version for a platform.
func (p platform) name(version string) string {
	return executable(fmt.Sprintf("sluice-%s-%s-%s", version, p.system, p.architecture), p.system)
}

// buildRelease builds the binaries of a tagged version, twice, and writes them with
// their checksums, a list of their modules and the licenses of these.
func buildRelease(ctx context.Context, top, version, to string) error {
	source, err := openRepository(ctx, top)
	if err != nil {
		return err
	}
	if err := validVersion(version); err != nil {
		return err
	}
	to, err = filepath.Abs(cmp.Or(to, filepath.Join(source.dir, "bin", version)))
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: choose another folder with -o", to)
	}
	w, err := newWorkshop(ctx, source, version)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.checkOut(ctx); err != nil {
		return err
	}
	files, err := w.binaries(ctx, platforms, filepath.Join(w.dir, "empty-cache"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	if err := writeAll(to, files); err != nil {
		return err
	}
	fmt.Printf("%d files in %s\n", len(files)+1, to)
	return nil
}

// checkOut checks the version's tag out in the clone, and downloads its modules.
func (w *workshop) checkOut(ctx context.Context) error {
	tag := module{dir: tool}.tag(w.version)
	if !w.clone.has(ctx, "refs/tags/"+tag) {
		return fmt.Errorf("there is no tag %s: make release VERSION=%s makes it", tag, w.version)
	}
	if _, err := w.clone.git(ctx, "checkout", "--quiet", tag); err != nil {
		return err
	}
	var err error
	if w.modules, err = readModules(w.clone.dir); err != nil {
		return err
	}
	return w.download(ctx)
}

// A file is one that is published beside the tags.
type file struct {
	name string
	text []byte
}

// binaries returns the binaries for platforms, each with its list of modules, and a file
// of licenses. Each binary is built in two folders, the second time with another build
// cache, and must be the same.
func (w *workshop) binaries(ctx context.Context, platforms []platform, cache string) (files []file, err error) {
	again := *w
	again.cache = cache
	if again.clone, err = w.clone.cloneTo(ctx, filepath.Join(w.dir, "another", "clone")); err != nil {
		return nil, err
	}
	commit, err := w.clone.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	var n notices
	for _, p := range platforms {
		binary, err := w.buildTwice(ctx, &again, p)
		if err != nil {
			return nil, err
		}
		info, err := w.verify(binary, commit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name(w.version), err)
		}
		if p == (platform{runtime.GOOS, runtime.GOARCH}) {
			if err := w.saysVersion(ctx, filepath.Join(w.clone.dir, "..", p.name(w.version)), w.version+" (commit "+commit[:12]+")"); err != nil {
				return nil, err
			}
		}
		bill, err := billOfMaterials(p.name(w.version), w.root, info, sha256.Sum256(binary))
		if err != nil {
			return nil, err
		}
		if err := n.add(filepath.Join(w.dir, "modules"), info.Deps); err != nil {
			return nil, err
		}
		files = append(files, file{p.name(w.version), binary}, file{p.name(w.version) + ".cdx.json", bill})
		fmt.Printf("%s: two builds are the same, %.1f MB\n", p.name(w.version), float64(len(binary))/1e6)
	}
	goroot, err := w.goCommand(ctx, w.dir, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	text, err := n.text(w.clone.dir, strings.TrimSpace(string(goroot)))
	return append(files, file{"LICENSES.txt", text}), err
}

// buildTwice builds the tool in both clones, and returns the binary.
func (w *workshop) buildTwice(ctx context.Context, again *workshop, p platform) ([]byte, error) {
	first, err := w.build(ctx, p)
	if err != nil {
		return nil, err
	}
	second, err := again.build(ctx, p)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(first, second) {
		return nil, fmt.Errorf("%s: two builds differ", p.name(w.version))
	}
	return first, nil
}

// build builds the tool for a platform, beside the clone. The commit and the version
// come from git, so anyone who has the tag can build the same.
func (w *workshop) build(ctx context.Context, p platform) ([]byte, error) {
	to := filepath.Join(w.clone.dir, "..", p.name(w.version))
	settings := append(w.proxies(), "CGO_ENABLED=0", "GOOS="+p.system, "GOARCH="+p.architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off", "GOFLAGS=-mod=readonly -modcacherw")
	_, err := w.goCommand(ctx, filepath.Join(w.clone.dir, filepath.FromSlash(tool)), settings,
		"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", to, ".")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(to)
}

// verify returns what a binary says it was built from, which must be the tagged commit
// of this version, and published modules only.
func (w *workshop) verify(binary []byte, commit string) (*buildinfo.BuildInfo, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, err
	}
	if info.Main.Version != w.version {
		return nil, fmt.Errorf("built from version %q (want %s)", info.Main.Version, w.version)
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if settings["vcs.revision"] != commit || settings["vcs.modified"] != "false" {
		return nil, fmt.Errorf("built from commit %q, modified: %q (want %s, false)", settings["vcs.revision"], settings["vcs.modified"], commit)
	}
	for _, dep := range info.Deps {
		if dep.Replace != nil || dep.Sum == "" {
			return nil, fmt.Errorf("built with %s %s, which is not a published version", dep.Path, dep.Version)
		}
	}
	return info, nil
}

// writeAll writes files, and SHA256SUMS for them, as sha256sum -c reads it.
func writeAll(to string, files []file) error {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var sums strings.Builder
	var errs []error
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.text), f.name)
		mode := os.FileMode(0o666)
		if strings.HasPrefix(f.name, "sluice-") && !strings.HasSuffix(f.name, ".json") {
			mode = 0o777
		}
		errs = append(errs, os.WriteFile(filepath.Join(to, f.name), f.text, mode))
	}
	errs = append(errs, os.WriteFile(filepath.Join(to, "SHA256SUMS"), []byte(sums.String()), 0o666))
	return errors.Join(errs...)
}
