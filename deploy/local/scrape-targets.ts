import { renameSync, writeFileSync } from 'node:fs';

/**
 * Returns a function that takes the lines of the services' logs, and lists their health ports in a file for Prometheus
 * (`file_sd_configs`). A service that is started again has its new port on the list.
 */
export function listTargets(file: string): (service: string, line: string) => void {
  const targets = new Map<string, string>();
  return (service, line) => {
    const port = line.includes('health port is open') ? portIn(line) : undefined;
    if (port === undefined) return;
    targets.set(service, `127.0.0.1:${port}`);
    // Prometheus must not read half a file.
    writeFileSync(`${file}.new`, JSON.stringify([{ targets: [...targets.values()] }]), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  };
}

function portIn(line: string): number | undefined {
  try {
    const { port } = JSON.parse(line) as { port?: unknown };
    return typeof port === 'number' ? port : undefined;
  } catch {
    // A line of a program that is no log.
    return undefined;
  }
}
