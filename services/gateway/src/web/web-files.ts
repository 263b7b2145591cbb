import { readdirSync, statSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';

/** A file of the web UI. */
export interface WebFile {
  file: string;
  size: number;
  contentType: string;
  /** The version of the file (RFC 9110, entity tag). */
  etag: string;
  /** Tells whether the name changes with the content, so that a browser may keep the file for ever. */
  isHashed: boolean;
}

const contentTypes: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
};

/**
 * Lists the files of a folder by their paths, `/` between names. Only these paths are served, so no path of a
 * request can leave the folder. Links are left out.
 */
export function webFiles(folder: string): Map<string, WebFile> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
  return new Map(
    files.map(({ parentPath, name }) => {
      const file = join(parentPath, name);
      return [relative(folder, file).split(sep).join('/'), describe(file, name)];
    }),
  );
}

function describe(file: string, name: string): WebFile {
  const { size, mtimeMs } = statSync(file);
  return {
    ...{ file, size },
    contentType: contentTypes[extname(name).toLowerCase()] ?? 'application/octet-stream',
    // Weak: the same for the file and for its compressed form.
    etag: `W/"${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}"`,
    isHashed: /-[A-Z0-9]{8}\.\w+$/.test(name),
  };
}
