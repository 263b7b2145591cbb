import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

/** The time without a further change after which changes are reported, in ms. Editors save in several steps. */
const quietMs = 150;

const isIgnored = (name: string) => name === 'node_modules' || name.startsWith('.');

/**
 * Watches the files of a folder and of all folders below it, except `node_modules` and names with a dot in
 * front. Calls `onChange` with the paths that changed.
 */
export function watchFiles(root: string, onChange: (files: ReadonlySet<string>) => void): Disposable {
  const watchers = new Map<string, FSWatcher>();
  let changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const report = () => {
    const files = changed;
    changed = new Set();
    onChange(files);
  };
  const note = (file: string) => {
    changed.add(file);
    clearTimeout(timer);
    timer = setTimeout(report, quietMs);
  };
  const open = (folder: string, isNew: boolean) => {
    if (watchers.has(folder)) return;
    let entries: { name: string; isDirectory(): boolean }[];
    try {
      entries = readdirSync(folder, { withFileTypes: true });
    } catch {
      // The path is a file, or is gone again.
      return;
    }
    const watcher = watch(folder, (_event, name) => {
      if (name === null || isIgnored(name)) return;
      note(join(folder, name));
      open(join(folder, name), true);
    });
    // A folder that was removed.
    watcher.on('error', () => close(folder));
    watchers.set(folder, watcher);
    for (const entry of entries.filter(({ name }) => !isIgnored(name))) {
      if (entry.isDirectory()) open(join(folder, entry.name), isNew);
      // The files of a new folder may be there before its watcher.
      else if (isNew) note(join(folder, entry.name));
    }
  };
  const close = (folder: string) => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };

  open(root, false);
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const folder of [...watchers.keys()]) close(folder);
    },
  };
}
