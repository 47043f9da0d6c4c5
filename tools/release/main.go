// Release prepares a version of all modules and proves that it can be installed:
//
//	go run ./release -version v0.1.0 [-proxy DIR]   proves the version, then adds its tags and a branch
//	go run ./release -check                         proves the next version, and adds nothing
//
// All work is done in a temporary clone. Only after everything is proved are the tags,
// and the branch release-v0.1.0 with the two commits, added to the repository, all or
// none of them. The working branch does not move, and nothing is pushed. With -proxy, the
// module proxy that the proof has used, a folder, is kept.
//
// The first commit is the one that is tagged: in each go.mod the versions of the other
// modules, and no replace. The second one restores development, in which replace lets
// each module build beside the others.
//
// The files: repository.go calls git, modules.go reads go.work, edit.go changes go.mod,
// changelog.go the documents. prepare.go makes the commits and tags.
// gocommand.go calls the go command, with the tags in place of the real repository;
// prove.go installs what they publish, compatibility.go compares the API with the last
// version. Binaries are not made here: binaries.sh calls GoReleaser, and licenses.sh
// collects what must come with a binary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/types"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// patience is the longest that all of it may take.
const patience = time.Hour

func main() {
	version := flag.String("version", "", "the version, such as v0.1.0")
	proxy := flag.String("proxy", "", "a new folder that keeps the modules, as a module proxy")
	check := flag.Bool("check", false, "prove the next version, and add nothing to the repository")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not finished after %v", patience))
	defer cancel()
	err := errors.New("unexpected arguments: see go doc ./release")
	switch {
	case flag.NArg() > 0 || *check && (*version != "" || *proxy != ""):
	case *check:
		err = checkRelease(ctx, "..")
	default:
		err = release(ctx, "..", *version, *proxy)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release prepares and proves a version, and adds its tags and its branch to the
// repository. The folder proxy, if not "", keeps its modules.
func release(ctx context.Context, top, version, proxy string) error {
	source, err := openRepository(ctx, top)
	if err != nil {
		return err
	}
	if err := source.ready(ctx, version); err != nil {
		return err
	}
	if _, err := os.Lstat(proxy); proxy != "" && (err == nil || !filepath.IsAbs(proxy)) {
		return fmt.Errorf("invalid proxy %q (want the absolute path of a folder that does not exist)", proxy)
	}
	w, err := newWorkshop(ctx, source, version)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.prepareAndProve(ctx, true); err != nil {
		return err
	}
	if err := w.keep(ctx, proxy); err != nil {
		return errors.Join(err, os.RemoveAll(proxy))
	}
	fmt.Printf(`%s is proved. The repository has its %d tags and the branch %s; nothing was pushed. To publish:
	git merge --ff-only %[3]s
	git push --atomic origin HEAD %[4]s
To discard:
	git branch -D %[3]s && git tag -d %[4]s
`, version, len(w.modules), branch(version), w.tags())
	return nil
}

// checkRelease does the same for the next version, without a trace.
func checkRelease(ctx context.Context, top string) error {
	source, err := openRepository(ctx, top)
	if err != nil {
		return err
	}
	changed, err := source.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		fmt.Println("note: there are uncommitted changes, and the last commit is what is checked")
	}
	last, err := source.lastVersion(ctx)
	if err != nil {
		return err
	}
	w, err := newWorkshop(ctx, source, next(last))
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.prepareAndProve(ctx, false); err != nil {
		return err
	}
	fmt.Printf("%s could be released: %d modules\n", w.version, len(w.modules))
	return nil
}

// prepareAndProve prepares the release, proves it, and restores development. Without notes in the
// changelog a release makes no sense, but a check does.
func (w *workshop) prepareAndProve(ctx context.Context, needNotes bool) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"prepare", func(ctx context.Context) error { return w.prepare(ctx, needNotes) }},
		{"download from the tags", w.download},
		{"go.work", w.workspace},
		{"go.sum", w.tidy},
		{"go get", w.useEach},
		{"go install", w.install},
		{"documents", w.documents},
		{"compatibility", w.compatible},
		{"development", w.resume},
	} {
		since := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %s: %w", w.version, step.name, err)
		}
		fmt.Printf("%s: %s: ok, %.0f s\n", w.version, step.name, time.Since(since).Seconds())
	}
	return nil
}

// A workshop is a temporary folder with a clone in which a version is prepared.
type workshop struct {
	dir     string
	source  repository
	clone   repository
	base    string // the commit that is released
	version string
	modules []module                             // each after those that it requires
	others  string                               // the proxy of modules by others
	root    string                               // the path of the root module
	cache   string                               // the build cache
	api     map[string]map[string]*types.Package // by module and package, of this version
}

func newWorkshop(ctx context.Context, source repository, version string) (w *workshop, err error) {
	dir, err := os.MkdirTemp("", "sluice-release-")
	if err != nil {
		return nil, err
	}
	w = &workshop{dir: dir, source: source, version: version, api: map[string]map[string]*types.Package{}}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	for _, folder := range []string{"home", "published", "bin"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o777); err != nil {
			return nil, err
		}
	}
	if w.clone, err = source.cloneTo(ctx, filepath.Join(dir, "clone")); err != nil {
		return nil, err
	}
	if w.base, err = w.clone.git(ctx, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	if w.modules, err = readModules(w.clone.dir); err != nil {
		return nil, err
	}
	w.root = w.modules[0].path
	if w.others, w.cache, err = surroundings(ctx, w); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *workshop) close() { os.RemoveAll(w.dir) }
