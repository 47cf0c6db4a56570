// Command image writes the image of a container that runs perksd, for several architectures, as an archive that docker
// load, podman load and skopeo read. The same programs make the same bytes. It needs neither Docker nor a registry.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	if err := run(os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string, epoch string) error {
	if len(args) < 4 {
		return errors.New("usage: image VERSION FILE LICENCES ARCH=PERKSD [ARCH=PERKSD]")
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH %q is not a number of seconds", epoch)
	}
	licences, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	i := images{version: args[0], date: time.Unix(seconds, 0).UTC(), licences: string(licences),
		index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	for _, arg := range args[3:] {
		arch, program, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not ARCH=PERKSD", arg)
		}
		if err := i.add(arch, program); err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
	}
	return i.write(args[1])
}

// user is who runs perksd in the container: nobody that a machine has, so that a number is enough to check that it is
// not root.
const user = 65532

// images are those of a version, one for each architecture.
type images struct {
	version  string
	date     time.Time
	licences string
	index    v1.ImageIndex
	names    []byName
}

// byName is how Docker finds an image that does not read the index of the OCI, as docker load did not before version
// 25.
type byName struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// notInTags are characters that a tag cannot have.
var notInTags = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

func (i *images) tag() string { return notInTags.ReplaceAllString(i.version, "-") }

// add adds the image of an architecture.
func (i *images) add(arch, program string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	about, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return err
	}
	if made := setting(about, "GOARCH"); made != arch || setting(about, "GOOS") != "linux" {
		return fmt.Errorf("%s is for %s on %s", program, setting(about, "GOOS"), made)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: "linux", Architecture: arch, Created: v1.Time{Time: i.date}, RootFS: v1.RootFS{Type: "layers"},
		Config: i.config(setting(about, "vcs.revision")),
	})
	if err != nil {
		return err
	}
	// What seldom changes has a layer of its own, and no time, so that a new version does not transfer it again.
	for _, l := range []struct {
		comment string
		files   []file
		date    time.Time
	}{
		{"accounts, certificates, directories", system(i.licences), time.Unix(0, 0)},
		{"perksd", []file{{"usr/bin/perksd", 0o755, 0, content}}, i.date},
	} {
		packed, err := pack(l.files, l.date)
		if err != nil {
			return err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(packed)), nil
		},
			tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
		if err != nil {
			return err
		}
		image, err = mutate.Append(image,
			mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: i.date}, Comment: l.comment}})
		if err != nil {
			return err
		}
	}
	i.index = mutate.AppendManifests(i.index,
		mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	name := byName{Config: blob(manifest.Config.Digest), RepoTags: []string{"perksd:" + i.tag() + "-" + arch}}
	for _, layer := range manifest.Layers {
		name.Layers = append(name.Layers, blob(layer.Digest))
	}
	i.names = append(i.names, name)
	return nil
}

func blob(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

func setting(about *debug.BuildInfo, key string) string {
	for _, s := range about.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// config says how the container runs. It serves nothing but loopback until it is told that a proxy is before it, or
// given a certificate, as perksd does everywhere.
func (i *images) config(revision string) v1.Config {
	labels := map[string]string{
		"org.opencontainers.image.title":       "perksd",
		"org.opencontainers.image.description": "service for perks and rental listings",
		"org.opencontainers.image.version":     i.version,
		"org.opencontainers.image.created":     i.date.Format(time.RFC3339),
	}
	if revision != "" {
		labels["org.opencontainers.image.revision"] = revision
	}
	return v1.Config{
		User: fmt.Sprintf("%d:%d", user, user),
		Env: []string{"PATH=/usr/bin", "HOME=/data", "PERKSD_ADDR=:8080",
			"PERKSD_DATABASE=sqlite:/data/perks.db"},
		Entrypoint:   []string{"/usr/bin/perksd"},
		Cmd:          []string{"serve"},
		WorkingDir:   "/data",
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		StopSignal:   "SIGTERM",
		Labels:       labels,
		// The specification of the OCI has no such member, and Docker reads it all the same.
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/perksd", "health"}, Interval: 10 * time.Second,
			Timeout: 6 * time.Second, StartPeriod: time.Minute, Retries: 3},
	}
}

// file is a file of the image, or a directory if its path ends in a slash.
type file struct {
	path    string
	mode    int64
	owner   int
	content []byte
}

// system is all but the program, in the order of the paths.
func system(licences string) []file {
	return []file{
		{"data/", 0o700, user, nil},
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, fmt.Appendf(nil, "root:x:0:\nperksd:x:%d:\n", user)},
		{"etc/passwd", 0o644, 0, fmt.Appendf(nil,
			"root:x:0:0:root:/:/sbin/nologin\nperksd:x:%d:%d:perks service:/data:/sbin/nologin\n", user, user)},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities()},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
		{"usr/share/", 0o755, 0, nil},
		{"usr/share/doc/", 0o755, 0, nil},
		{"usr/share/doc/perksd/", 0o755, 0, nil},
		{"usr/share/doc/perksd/copyright", 0o644, 0, []byte(licences +
			"\nThe certificates in /etc/ssl/certs are those of Mozilla's list (MPL-2.0), from " +
			"golang.org/x/crypto/x509roots/fallback.\n")},
	}
}

// authorities are the certificates of the authorities that Mozilla trusts. A file cannot say under which further
// conditions it trusts one, so it has none of these.
func authorities() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			// which a buffer never refuses
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return text.Bytes()
}

func pack(files []file, date time.Time) ([]byte, error) {
	var packed bytes.Buffer
	out := tar.NewWriter(&packed)
	for _, f := range files {
		header := &tar.Header{Name: f.path, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.content)),
			ModTime: date, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.path, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := out.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := out.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := out.Close()
	return packed.Bytes(), err
}

// write writes the archive: a layout of the OCI with one index, beside the list that older versions of Docker read.
func (i *images) write(archive string) (err error) {
	directory, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	path, err := layout.Write(directory, empty.Index)
	if err == nil {
		err = path.AppendIndex(i.index, layout.WithAnnotations(map[string]string{
			"org.opencontainers.image.ref.name": i.tag(),
			"io.containerd.image.name":          "docker.io/library/perksd:" + i.tag(),
		}))
	}
	if err != nil {
		return err
	}
	names, err := json.Marshal(i.names)
	if err != nil {
		return err
	}
	if err := path.WriteFile("manifest.json", names, 0o644); err != nil {
		return err
	}
	var files []file
	err = filepath.WalkDir(directory, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == directory {
			return err
		}
		f := file{path: filepath.ToSlash(strings.TrimPrefix(name, directory+string(filepath.Separator))), mode: 0o644}
		if entry.IsDir() {
			f.path, f.mode = f.path+"/", 0o755
		} else if f.content, err = os.ReadFile(name); err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		return err
	}
	packed, err := pack(files, i.date)
	if err != nil {
		return err
	}
	return os.WriteFile(archive, packed, 0o644)
}
