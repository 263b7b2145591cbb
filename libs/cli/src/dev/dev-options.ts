import { nearest } from '@agentmesh/protocol';
import { Misuse } from '../command/program.ts';
import { type DevLog, type LogLevel, logLevels } from './dev-log.ts';
import type { DevModel } from './dev-model.ts';

/** The settings of a dev loop. */
export interface DevOptions {
  /** The folder of the project. */
  root: string;
  env: NodeJS.ProcessEnv;
  /** The folder for data, logs and the context. */
  folder: string;
  servers: string;
  /** The port of the gateway; default 8000 when it is free, else any free port. */
  port: number | undefined;
  model: DevModel;
  /** The number of replicas by the name of the service; default 1. */
  replicas: ReadonlyMap<string, number>;
  level: LogLevel;
  log: DevLog;
  /** Aborted when the dev loop must stop. */
  signal: AbortSignal;
}

/** The largest number of replicas on one machine. */
const mostReplicas = 50;

/** Reads `weather_agent=2` for each service. @throws Misuse */
export function readReplicas(texts: readonly string[]): Map<string, number> {
  return new Map(
    texts.map((text) => {
      const [, name = '', digits = ''] = /^([^=]+)=(\d{1,3})$/.exec(text) ?? [];
      const count = Number(digits);
      if (name !== '' && count >= 1 && count <= mostReplicas) return [name, count];
      throw new Misuse(
        `--replicas must be <service>=<1 to ${mostReplicas}>, such as weather_agent=2; it is ${JSON.stringify(text)}`,
      );
    }),
  );
}

/** Returns a sentence for each service of `--replicas` that is none of the project's. */
export function unknownReplicas(replicas: ReadonlyMap<string, number>, names: readonly string[]): string[] {
  const unknown = [...replicas.keys()].filter((name) => !names.includes(name));
  return unknown.map((name) => {
    const meant = nearest(name, names);
    return `--replicas names ${name}, which is no service of the project${meant ? `; did you mean ${meant}?` : ''}`;
  });
}

/** Reads the level of `--level` or `MESH_LOG_LEVEL`. @throws Misuse */
export function readLevel(text: string): LogLevel {
  const level = logLevels.find((each) => each === text);
  if (level) return level;
  throw new Misuse(`the level must be one of ${logLevels.join(', ')}; it is ${JSON.stringify(text)}`);
}

/** Reads the port of `--port` or `MESH_HTTP_PORT`. @throws Misuse */
export function readPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new Misuse(`the port of the gateway must be a number from 1 to 65535; it is ${JSON.stringify(text)}`);
}
