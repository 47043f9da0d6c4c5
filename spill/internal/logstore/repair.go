package logstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// A Report is the result of Repair.
type Report struct {
	Records     int    // in the store now
	Lost        int    // records that were stored, and cannot be read
	First, Last uint64 // sequence numbers of the first and the last lost record
	SetAside    []string
	// Returned means that acknowledgments were lost, too: records may come back that were
	// acknowledged.
	Returned bool
	// NoCheckpoint means that the checkpoint was damaged, or of an earlier moment. Records in
	// missing segments are not counted then.
	NoCheckpoint bool
}

// errNothing means that neither a checkpoint nor a segment can be read.
var errNothing = errors.New("neither a checkpoint nor an intact segment")

const (
	repairFile    = "repair.new"
	damagedSuffix = ".damaged"
)

// Repair makes a damaged store in a folder usable. It copies all intact records from
// damaged segments to a new one, and renames damaged files, with the suffix ".damaged". If
// it fails, the store is as it was. If nothing can be read, it renames all files, so that the next
// Open creates an empty store. o.Codec is the codec if the checkpoint is damaged. The store must
// not be open.
//
// Repair reads the whole store. Opening does not, so Repair is also a check.
//
// Before the first change that cannot be undone, Repair calls before, if it is not nil, and fails if
// that fails.
func Repair(d disk.Disk, o Options, before func(Report) error) (report Report, err error) {
	s, err := lock(d, o)
	if err != nil {
		return report, fmt.Errorf("repair: %w", err)
	}
	if before == nil {
		before = func(Report) error { return nil }
	}
	r := repairer{store: s, tails: map[*segment]bool{}, before: before}
	defer func() {
		if err = errors.Join(err, s.release()); err != nil {
			err = fmt.Errorf("repair: %w", err)
		}
	}()
	if err = finishRepair(d, o); err != nil {
		return report, err
	}
	if r.files, err = d.List(); err != nil {
		return report, err
	}
	refused := r.refused()
	if err := r.salvage(); errors.Is(err, errNothing) {
		err = r.setAsideAll()
		return r.report, err
	} else if err != nil {
		return report, err
	}
	damaged, err := r.verify()
	if err == nil && len(damaged) == 0 && !r.stale && refused {
		active := s.state.active()
		damaged, r.tails[active] = []*segment{active}, true
	}
	r.report.Returned = r.stale || len(r.tails) > 0
	if err != nil || len(damaged) == 0 && !r.stale {
		r.report.Records = s.state.contents().Records
		return r.report, err
	}
	err = r.replace(damaged)
	return r.report, err
}

// refused reports whether Open finds damage. It is stricter than salvage: commits that nobody wrote may
// have right checksums.
func (r *repairer) refused() bool {
	s := Store{disk: r.store.disk, options: r.store.options, state: new(state), broken: map[uint64]bool{}}
	defer s.closeFiles()
	var damage *DamagedError
	_, err := s.read(r.files)
	return errors.As(err, &damage)
}

// A repairer repairs a store.
type repairer struct {
	store  *Store
	files  map[string]int64
	synced mark
	tails  map[*segment]bool // segments with damage after the checkpoint
	stale  bool              // the checkpoint lacks segments
	seen   int64             // end of the last frame of the segment that is replayed
	unread int64             // bytes before seen without a frame, in which records may have been
	report Report
	moves  []move
	before func(Report) error
}

// salvage finds the state of a store: from the checkpoint, or, if that is damaged, of another store,
// or of an earlier moment, from all segments. An old checkpoint says nothing about which records are
// live: their segments may be gone, and their copies in segments that it does not list.
func (r *repairer) salvage() error {
	s := r.store
	err := s.readState()
	var damage *DamagedError
	if err != nil && !errors.As(err, &damage) && r.files[checkpointFile] > 0 {
		return err
	}
	usable := err == nil && !r.foreign()
	if usable {
		if r.synced, err = readMark(s.disk, s.id); err != nil {
			return err
		}
		_, later := s.later(r.files)
		end := s.end()
		usable = !later && r.synced.segment <= end.segment && max(end.segment, end.commit, end.next) <= maxNumber
	}
	if !usable {
		r.report.NoCheckpoint, r.stale = true, true
		s.id, s.state = 0, &state{moved: map[uint64]*segment{}, next: 1, commit: 1}
		if err := r.identify(); err != nil {
			return err
		}
		if r.synced, err = readMark(s.disk, s.id); err != nil {
			return err
		}
	}
	from := uint64(1)
	if !r.report.NoCheckpoint {
		active := s.state.active()
		if err := r.replay(active); err != nil {
			return err
		}
		from = active.id + 1
	}
	if err := r.replayFrom(from); err != nil {
		return err
	}
	if active := s.state.active(); active.id < r.synced.segment { // that segment is missing
		r.stale = true
		r.missing()
	}
	return nil
}

// ids returns the segments that exist.
func (r *repairer) ids() (ids []uint64) {
	for name := range r.files {
		if id, ok := segmentID(name); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// foreign reports whether the checkpoint belongs to another store than the segments.
func (r *repairer) foreign() (foreign bool) {
	for _, id := range r.ids() {
		switch place, _, err := r.header(segmentName(id)); {
		case err == nil && place.store == r.store.id:
			return false
		case err == nil:
			foreign = true
		}
	}
	return foreign
}

// identify learns the number of the store from a segment.
func (r *repairer) identify() error {
	for _, id := range r.ids() {
		place, _, err := r.header(segmentName(id))
		if scarce(err) {
			return err
		}
		if err == nil && place.segment == id {
			r.store.id = place.store
			return nil
		}
	}
	return errNothing
}

// replace moves what can be read of damaged segments to a new one, and sets them aside.
func (r *repairer) replace(damaged []*segment) (err error) {
	s := r.store
	if err := r.outrank(); err != nil {
		return err
	}
	g, err := r.newSegment()
	if err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed {
			err = errors.Join(err, s.disk.Remove(repairFile))
		}
	}()
	for _, old := range damaged {
		if err := s.empty(old); err != nil {
			return err
		}
		s.mu.Lock()
		s.unload(old)
		s.mu.Unlock()
	}
	s.state.segments = slices.DeleteFunc(s.state.segments, func(g *segment) bool { return slices.Contains(damaged, g) })
	r.report.Records = s.state.contents().Records
	for _, old := range damaged {
		r.plan(segmentName(old.id))
	}
	files := r.moves
	if r.report.NoCheckpoint {
		r.plan(checkpointFile)
	}
	if err := r.before(r.report); err != nil {
		return err
	}
	for _, m := range r.moves[len(files):] { // the checkpoint: it is copied, because the new one replaces it
		b, err := ReadFile(s.disk, m.from, maxCheckpoint)
		if err == nil {
			err = writeFile(s.disk, m.to, b)
		}
		if err != nil {
			return err
		}
	}
	if committed, err = s.checkpoint(s.state); err != nil {
		return err
	}
	return finish(s.disk, files, g)
}

// finish gives the files of a repair their names, when the checkpoint lists g, the new segment. If the
// process dies before the end, Open does it.
func finish(d disk.Disk, damaged []move, g *segment) error {
	return rename(d, append(slices.Clip(damaged), move{repairFile, segmentName(g.id)}))
}

// finishRepair ends a repair whose process died when the checkpoint was written.
func finishRepair(d disk.Disk, o Options) error {
	files, err := d.List()
	if _, ok := files[repairFile]; !ok || err != nil {
		return err
	}
	s := Store{disk: d, options: o, state: new(state)}
	defer s.closeFiles()
	if s.readState() != nil {
		return nil // there is another reason to repair
	}
	r := repairer{store: &s, files: files}
	g := s.state.active()
	place, _, err := r.header(repairFile)
	if _, exists := files[segmentName(g.id)]; exists || err != nil || place != s.salt(g) {
		return nil // the checkpoint was not written
	}
	for _, id := range r.ids() {
		if !slices.ContainsFunc(s.state.segments, func(g *segment) bool { return g.id == id }) {
			r.plan(segmentName(id))
		}
	}
	return finish(d, r.moves, g)
}

// outrank makes the state newer than those in the acknowledgment area.
func (r *repairer) outrank() error {
	s := r.store
	if s.area == nil {
		if err := s.openArea(); err != nil || s.area == nil {
			return err
		}
	}
	st, _, err := s.area.latest(s.id, s.options.Codec)
	if st != nil {
		s.state.commit = max(s.state.commit, st.commit)
	}
	return err
}

// newSegment makes a new segment, with a temporary name, the active one.
func (r *repairer) newSegment() (*segment, error) {
	s := r.store
	g := &segment{id: r.synced.segment + 1, first: s.state.next, next: s.state.next, length: segmentHeaderSize, places: []place{}}
	for _, id := range r.ids() {
		g.id = max(g.id, id+1)
	}
	for _, old := range s.state.segments { // its file may be missing
		g.id = max(g.id, old.id+1)
	}
	if err := writeFile(s.disk, repairFile, segmentHeader(s.salt(g), g.first)); err != nil {
		return nil, err
	}
	var err error
	if g.file, err = s.disk.Open(repairFile); err != nil {
		return nil, err
	}
	s.state.segments = append(s.state.segments, g)
	return g, nil
}

// setAsideAll renames all files of a store of which nothing can be read, and removes the reserve,
// which has no content.
func (r *repairer) setAsideAll() error {
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if _, ok := segmentID(name); ok || name == checkpointFile || name == markFile || name == acksFile {
			r.plan(name)
		}
	}
	if err := r.before(r.report); err != nil {
		return err
	}
	if _, ok := r.files[reserveFile]; ok {
		if err := r.store.disk.Remove(reserveFile); err != nil {
			return err
		}
	}
	return rename(r.store.disk, r.moves)
}

// A move is a file that is to get another name.
type move struct{ from, to string }

func rename(d disk.Disk, files []move) error {
	for _, m := range files {
		if err := d.Rename(m.from, m.to); err != nil {
			return err
		}
	}
	return d.Sync()
}

// plan finds a free name for a damaged file, if it exists, and adds it to the report.
func (r *repairer) plan(name string) {
	if _, ok := r.files[name]; !ok {
		return
	}
	to := name + damagedSuffix
	for n := 2; ; n++ {
		if _, taken := r.files[to]; !taken {
			break
		}
		to = fmt.Sprint(name, damagedSuffix, "-", n)
	}
	r.files[to] = 0
	r.moves = append(r.moves, move{name, to})
	r.report.SetAside = append(r.report.SetAside, to)
}
