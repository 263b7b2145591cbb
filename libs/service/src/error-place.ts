import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A frame of a stack: the file or its address, the line and the column. */
const frame = /^\s+at (?:async )?(?:.*\()?((?:file:\/\/)?[^()]+?)(:\d+:\d+)\)?$/;
/** Greatest number of causes that are followed; a longer chain is taken for a cycle. */
const maxCauses = 8;

/**
 * Returns the place where an error was thrown, as `file:line:column`: the first frame outside of installed
 * packages, of the innermost cause. A file below the folder of the process has its path from there. Returns
 * undefined for a value without a stack.
 */
export function errorPlace(thrown: unknown, folder = process.cwd()): string | undefined {
  const places = frames(innermost(thrown));
  const place = places.find(({ file }) => !/[\\/]node_modules[\\/]/.test(file)) ?? places[0];
  if (!place) return undefined;
  const isBelow = place.file.startsWith(folder + sep);
  return `${isBelow ? relative(folder, place.file) : place.file}${place.position}`;
}

function innermost(thrown: unknown): unknown {
  let error = thrown;
  for (let depth = 0; depth < maxCauses && error instanceof Error && error.cause instanceof Error; depth += 1)
    error = error.cause;
  return error;
}

function frames(error: unknown): { file: string; position: string }[] {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return [];
  return error.stack.split('\n').flatMap((line) => {
    const [, file = '', position = ''] = frame.exec(line) ?? [];
    // Functions of Node itself have names such as node:internal/process/task_queues.
    if (file === '' || file.startsWith('node:') || !/[\\/]/.test(file)) return [];
    return { file: file.startsWith('file://') ? fileURLToPath(file) : file, position };
  });
}
