package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	built   = "bin"         // make package has put the programs here, linux_ARCH/, and the manual pages, man/
	staged  = "bin/stage"   // what is made of them on the way
	results = "bin/package" // what people install
)

// packages makes the packages and the archive of each architecture, and the file with their sums.
func packages(ctx context.Context, version string, date time.Time, archs []string) error {
	ordered, err := debianVersion(version, date)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(staged), os.RemoveAll(results)); err != nil {
		return err
	}
	if err := stage(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	for _, arch := range archs {
		for _, program := range programs {
			if err := debianPackage(ctx, program, ordered, arch); err != nil {
				return err
			}
		}
		if err := archive(ordered, arch, date); err != nil {
			return err
		}
	}
	return writeSums(results)
}

// stage makes what is the same for all architectures and not yet in the form in which it is installed.
func stage(ctx context.Context) error {
	for _, section := range []string{"man1", "man8"} {
		if err := compressAll(filepath.Join(built, "man", section), filepath.Join(staged, "man", section)); err != nil {
			return err
		}
	}
	for shell, name := range map[string]string{"bash": "perksd.bash", "zsh": "_perksd", "fish": "perksd.fish"} {
		script, err := output(command(ctx, filepath.Join(built, "perksd"), "completion", shell))
		if err == nil {
			err = write(filepath.Join(staged, "completions", name), script)
		}
		if err != nil {
			return err
		}
	}
	for _, program := range programs {
		text, err := copyright(ctx, program)
		if err == nil {
			err = write(filepath.Join(staged, "licences", program), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func programsFor(arch string) string { return filepath.Join(built, "linux_"+arch) }

func debianPackage(ctx context.Context, program, version, arch string) error {
	cmd, err := tool(ctx, "nfpm", "package", "--config", filepath.Join("cmd", program, "package", "nfpm.yaml"), "--packager", "deb",
		"--target", filepath.Join(results, fmt.Sprintf("%s_%s_%s.deb", program, version, arch)))
	if err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), "VERSION="+version, "ARCH="+arch, "PROGRAMS="+programsFor(arch), "STAGE="+staged)
	_, err = output(cmd)
	return err
}
