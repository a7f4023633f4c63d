//! Docker Compose: brings services up and takes them away again.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use engine_docker::{Docker, DockerError};
use engine_formats::{
    compose::{ProjectRequest, cli},
    golang::quote::quote,
};
use engine_model::path::to_path;
use engine_model::{
    ComposeProject, ComposeSpec,
    container::{PROJECT_LABEL, SERVICE_LABEL},
};
use tokio::sync::{Mutex, OnceCell};

use super::commands::{self, Output, Surroundings};
use crate::{
    exec::Run,
    logs::{Level, LogWriter},
};

/// The Compose command, and who uses it.
#[derive(Clone, Debug)]
pub struct Compose {
    surroundings: Surroundings,
    /// The command, once somebody needed it.
    program: Arc<OnceCell<Vec<String>>>,
    /// Two commands that change one project at the same time trip over its networks.
    projects: Arc<Mutex<HashMap<String, Arc<Mutex<()>>>>>,
}

/// A Compose command that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("command [{command}] failed.\nerror: {reason}\n")]
pub struct ComposeError {
    /// The command, with every word quoted.
    pub command: String,
    /// How it ended.
    pub reason: String,
    /// What it printed last.
    pub last_line: String,
}

impl Compose {
    /// Compose as these surroundings have it.
    pub fn new(surroundings: Surroundings) -> Self {
        Self { surroundings, program: Arc::default(), projects: Arc::default() }
    }

    /// Lets Compose build the image of a service.
    pub async fn build(&self, spec: &ComposeSpec, output: &Output) -> Result<(), ComposeError> {
        self.run(&spec.project, &["build", &spec.service], output).await
    }

    /// Brings a service up, and nothing else.
    pub async fn up(&self, spec: &ComposeSpec, output: &Output) -> Result<(), ComposeError> {
        let mut args =
            vec!["up", "--no-deps", "--remove-orphans", "--no-build", "-d", &spec.service];
        if spec.project.wait {
            args.push("--wait");
        }
        let project = self.project(&spec.project).await;
        let _alone = project.lock().await;
        self.run(&spec.project, &args, output).await
    }

    /// Stops services of a project and removes their containers.
    pub async fn remove(
        &self,
        project: &ComposeProject,
        services: &[&str],
        output: &Output,
    ) -> Result<(), ComposeError> {
        let mut args = vec!["rm", "--stop", "--force"];
        args.extend(services);
        let lock = self.project(project).await;
        let _alone = lock.lock().await;
        // It sounds as if a question followed.
        let output = output.without(|line| line.starts_with("Going to remove"));
        self.run(project, &args, &output).await
    }

    /// Stops and removes the containers of a service that the files of its project may not have any more.
    pub async fn discard(
        &self,
        docker: &Docker,
        spec: &ComposeSpec,
        log: &LogWriter,
    ) -> Result<(), DockerError> {
        let lock = self.project(&spec.project).await;
        let _alone = lock.lock().await;
        for container in docker.containers(&labels(spec)).await? {
            let name = container.names.first().map_or(container.id.as_str(), String::as_str);
            log.info(&format!(" Container {name}  Stopping"));
            docker.remove(&container.id).await?;
            log.info(&format!(" Container {name}  Removed"));
        }
        Ok(())
    }

    /// Takes a whole project down.
    pub async fn down(
        &self,
        project: &ComposeProject,
        with_volumes: bool,
        output: &Output,
    ) -> Result<(), ComposeError> {
        let mut args = vec!["down", "--remove-orphans"];
        if with_volumes {
            args.push("--volumes");
        }
        let lock = self.project(project).await;
        let _alone = lock.lock().await;
        self.run(project, &args, output).await
    }

    async fn project(&self, project: &ComposeProject) -> Arc<Mutex<()>> {
        let mut projects = self.projects.lock().await;
        Arc::clone(projects.entry(project.name.clone()).or_default())
    }

    async fn run(
        &self,
        project: &ComposeProject,
        args: &[&str],
        output: &Output,
    ) -> Result<(), ComposeError> {
        let mut argv = self.program().await.clone();
        argv.extend(cli::project_args(&request(project)));
        if output.level <= Level::Verbose {
            argv.push("--verbose".to_owned());
        }
        argv.extend(args.iter().map(|it| (*it).to_owned()));
        let dir = to_path(&project.project_path).into_owned();
        let run = Run { is_silent: true, ..self.surroundings.run(argv.clone(), dir, &[]) };
        let ended = commands::to_end(run, output.clone()).await;
        if ended.exit_code == 0 {
            return Ok(());
        }
        let argv: Vec<String> = argv.iter().map(|it| quote(it)).collect();
        let reason = ended.reason.strip_prefix("failed to start: ").unwrap_or(&ended.reason);
        let (command, reason) = (argv.join(" "), reason.to_owned());
        Err(ComposeError { command, reason, last_line: ended.last_line })
    }

    async fn program(&self) -> &Vec<String> {
        self.program
            .get_or_init(|| async {
                let mut candidates =
                    cli::candidates(self.surroundings.env("TILT_DOCKER_COMPOSE_CMD"));
                while candidates.len() > 1 {
                    let mut argv = candidates[0].clone();
                    argv.push("version".to_owned());
                    if self.surroundings.succeeds(argv).await {
                        break;
                    }
                    candidates.remove(0);
                }
                candidates.swap_remove(0)
            })
            .await
    }
}

/// What all containers of a service are labeled with.
pub fn labels(spec: &ComposeSpec) -> [String; 2] {
    [format!("{PROJECT_LABEL}={}", spec.project.name), format!("{SERVICE_LABEL}={}", spec.service)]
}

fn request(project: &ComposeProject) -> ProjectRequest {
    ProjectRequest {
        config_paths: project.config_paths.iter().map(PathBuf::from).collect(),
        project_dir: PathBuf::from(&project.project_path),
        name: project.name.clone(),
        env_file: (!project.env_file.is_empty()).then(|| PathBuf::from(&project.env_file)),
        profiles: project.profiles.clone(),
        env: std::collections::BTreeMap::new(),
    }
}
