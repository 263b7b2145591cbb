import { appNames } from '@agentmesh/mesh';
import type { Handler } from '../index.ts';

export const listApps: Handler = ({ mesh }) => appNames(mesh);
