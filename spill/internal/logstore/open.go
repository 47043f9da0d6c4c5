package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// Open opens the store in a folder, which must exist, or creates one there. It
// reads the checkpoint and the last segment. It returns a *DamagedError, and changes
// nothing, if what it reads is damaged or segments are missing or shorter than they were;
// other damage is found by Read.
//
// Only one store at a time can use a folder.
func Open(d disk.Disk, o Options) (*Store, Contents, error) {
	s, err := lock(d, o)
	if err != nil {
		return nil, Contents{}, err
	}
	if err := s.open(); err != nil {
		_ = s.release()
		return nil, Contents{}, err
	}
	return s, s.state.contents(), nil
}

// lock returns a store without a state, whose folder is locked.
func lock(d disk.Disk, o Options) (*Store, error) {
	held, err := d.Lock()
	if err != nil {
		return nil, err
	}
	o.SegmentSize = cmp.Or(o.SegmentSize, defaultSegmentSize)
	o.Reserve = cmp.Or(o.Reserve, defaultReserve)
	o.Acks = cmp.Or(o.Acks, defaultAcks)
	return &Store{disk: d, options: o, lock: held, state: new(state), broken: map[uint64]bool{}}, nil
}

func (s *Store) open() error {
	if err := finishRepair(s.disk, s.options); err != nil {
		return err
	}
	files, err := s.disk.List()
	if err != nil {
		return err
	}
	_, exists := files[checkpointFile]
	if !exists {
		if err := s.create(files); err != nil {
			return err
		}
		if files, err = s.disk.List(); err != nil {
			return err
		}
	}
	synced, err := s.read(files)
	if err != nil {
		return err
	}
	if err := s.settle(files, synced); err != nil {
		return err
	}
	// Without content, the file of the lock is new. A process that still has the lock of one that was
	// removed may write a commit before it notices that: to the segment that was active until now.
	if size, err := s.lock.Check(); err != nil || size > 0 {
		return err
	}
	if exists && s.newSegment() != nil { // on a full disk; the next Open tries again
		return s.failed
	}
	_, _ = s.lock.WriteAt([]byte{'\n'}, 0)
	return nil
}

// read finds the state of a store that is not damaged, and how far it is synced. It changes no file.
func (s *Store) read(files map[string]int64) (synced mark, err error) {
	if err := s.readState(); err != nil {
		return synced, err
	}
	if synced, err = readMark(s.disk, s.id); err != nil {
		return synced, err
	}
	if err := s.openActive(); err != nil {
		return synced, err
	}
	if synced.before(s.end()) {
		synced = s.end()
	}
	if err := s.replay(synced); err != nil {
		return synced, err
	}
	return synced, s.compare(files)
}

// end returns the mark of the state.
func (s *Store) end() mark {
	active := s.state.active()
	return mark{active.id, active.length, s.state.commit, s.state.next}
}

// create creates an empty store. A process may have died while it did the same, and has left
// the first segment, at most.
func (s *Store) create(files map[string]int64) error {
	for name, size := range files {
		id, ok := segmentID(name)
		if name == markFile || name == acksFile || name == reserveFile || ok && (id != 1 || size > segmentHeaderSize) {
			return s.damage(checkpointFile, 0, errors.New("the file is missing"))
		}
	}
	for s.id == 0 {
		s.id = rand.Uint64()
	}
	g := &segment{id: 1, first: 1, next: 1, length: segmentHeaderSize}
	if err := writeFile(s.disk, segmentName(g.id), segmentHeader(s.salt(g), g.first)); err != nil {
		return err
	}
	st := &state{segments: []*segment{g}, next: 1, commit: 1}
	_, err := Replace(s.disk, checkpointFile, encodeCheckpoint(s.id, s.options.Codec, st))
	return err
}

// damage returns an error about a file.
func (s *Store) damage(name string, offset int64, err error) *DamagedError {
	return &DamagedError{Path: s.disk.Path(name), Offset: offset, Err: err}
}

// readState reads the checkpoint, or the slot that is in effect.
func (s *Store) readState() error {
	b, err := readCheckpoint(s.disk)
	if err != nil {
		return err
	}
	id, codec, st, err := decodeCheckpoint(b)
	if err != nil {
		return s.damage(checkpointFile, 0, err)
	}
	if codec != s.options.Codec {
		return fmt.Errorf("%s: written with codec %q, not %q", s.disk.Path(checkpointFile), codec, s.options.Codec)
	}
	s.id, s.state, s.lastCP = id, st, len(b)
	return s.readArea()
}

// openActive opens the segment that is written to, and checks its header.
func (s *Store) openActive() error {
	g := s.state.active()
	name := segmentName(g.id)
	f, err := s.disk.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return s.lost(g, 0, err)
	}
	if err != nil {
		return err
	}
	g.file = f
	size, err := f.Check()
	if err != nil {
		return err
	}
	if size < g.length {
		return s.lost(g, size, fmt.Errorf("the file has %d bytes, and had %d", size, g.length))
	}
	read := reader{store: s}
	b, err := read.bytes(g, 0, segmentHeaderSize)
	if err != nil {
		return err
	}
	place, first, err := parseSegmentHeader(b)
	if err != nil || place != s.salt(g) || first != g.first {
		return s.damage(name, 0, errSegmentHeader)
	}
	if g.places, err = s.scanPlaces(g); err == nil {
		s.cached = len(g.places)
	}
	return err
}

// lost returns an error about a segment that is missing, or shorter than it was.
func (s *Store) lost(g *segment, size int64, err error) error {
	e := s.damage(segmentName(g.id), size, err)
	if e.Records = g.live; g.next > g.first {
		e.First, e.Last = g.first, g.next-1
	}
	return e
}

// compare compares the segments with the files.
func (s *Store) compare(files map[string]int64) error {
	for _, g := range s.state.segments {
		size, ok := files[segmentName(g.id)]
		switch {
		case g.live == 0:
		case !ok:
			return s.lost(g, 0, fs.ErrNotExist)
		case size < g.length:
			return s.lost(g, size, fmt.Errorf("the file has %d bytes, and had %d", size, g.length))
		}
	}
	if name, ok := s.later(files); ok {
		return s.damage(name, 0, errors.New("the segment is newer than the checkpoint"))
	}
	return nil
}

// later returns the file of a segment that only a later state can list. A process that died while
// it began the next segment has left that one, without a commit.
func (s *Store) later(files map[string]int64) (name string, ok bool) {
	last := s.state.active().id
	for name, size := range files {
		if id, ok := segmentID(name); ok && (id > last && size > segmentHeaderSize || id > last+1 && size == segmentHeaderSize) {
			return name, true
		}
	}
	return "", false
}

// settle makes the state on disk the one in memory, and removes leftovers.
func (s *Store) settle(files map[string]int64, synced mark) error {
	if err := s.rewrite(synced); err != nil {
		return err
	}
	// The process before may have died, or failed, when it had renamed the checkpoint: the
	// names that were read may not be on the disk.
	if err := s.disk.Sync(); err != nil {
		return fmt.Errorf("spill: sync %s: %w", s.disk.Path(""), err)
	}
	listed := map[string]bool{}
	for _, g := range s.state.segments {
		listed[segmentName(g.id)] = true
	}
	for name := range files {
		if _, ok := segmentID(name); name == checkpointNew || name == repairFile || name == acksNew || ok && !listed[name] {
			_ = s.disk.Remove(name) // if it fails, the file only uses space
		}
	}
	if err := s.settleSlot(); err != nil {
		return err
	}
	s.discard()
	if err := s.makeSpares(files); err != nil {
		return err
	}
	s.mark = openMark(s.disk)
	s.end().write(s.mark, s.id)
	return nil
}

// settleSlot writes the state to the checkpoint if a slot is in effect, or to the other slot on
// a full disk: after a sync that failed, the system may take a slot for written that is not.
func (s *Store) settleSlot() error {
	if !s.inSlot {
		return nil
	}
	st := *s.state
	err := s.persist(&st)
	s.state.commit = st.commit
	return err
}
