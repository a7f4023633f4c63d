//! Groups objects into resources: workloads with their services, groups that the Tiltfile defines, and the rest.

use std::collections::{BTreeMap, HashMap, HashSet};

use engine_formats::{
    docker::reference::Reference,
    golang::quote::quote,
    kubernetes::{
        Object,
        names::{Fragment, FragmentError, Fragments, full_name, unique_names},
        services::ServiceIndex,
    },
};
use engine_model::{Forward, Link, PodReadiness};

use super::error::AssemblyError;
use crate::{
    api::trigger_mode::TriggerModeArg,
    declarations::{
        Declarations, NameTaken,
        images::{ImageId, Images},
        kubernetes::{CustomDeploy, Kubernetes, ResourceOptions},
    },
    diagnostic::Problem,
};

mod translate;
mod workloads;

pub(crate) use translate::Translator;
use workloads::ImageFinder;
pub(crate) use workloads::workloads;

/// The resource for objects that belong to no other.
pub(crate) const UNCATEGORIZED: &str = "uncategorized";

/// A resource while it is put together; objects are places in the list of all objects.
#[derive(Clone, Debug, Default)]
struct Resource<'a> {
    name: String,
    objects: Vec<usize>,
    images: Vec<Reference>,
    /// Images that must have a build.
    required: Vec<Reference>,
    custom_deploy: Option<&'a CustomDeploy>,
    is_group: bool,
    port_forwards: Vec<Forward>,
    extra_pod_selectors: Vec<BTreeMap<String, String>>,
    readiness: PodReadiness,
    discovery_strategy: String,
    trigger_mode: Option<TriggerModeArg>,
    auto_init: bool,
    resource_deps: Vec<String>,
    links: Vec<Link>,
    labels: BTreeMap<String, String>,
}

impl Resource<'_> {
    fn new(name: String) -> Self {
        Self { name, auto_init: true, ..Self::default() }
    }

    fn add_image(&mut self, image: Reference) {
        if !self.images.contains(&image) {
            self.images.push(image);
        }
    }
}

/// The resources of a Tiltfile, and the objects that belong to none.
#[derive(Debug, Default)]
pub(crate) struct Resources<'a> {
    resources: Vec<Resource<'a>>,
    unresourced: Vec<usize>,
}

impl Resources<'_> {
    /// How many resources there are.
    pub(crate) fn len(&self) -> usize {
        self.resources.len()
    }

    /// How many objects belong to no resource.
    pub(crate) fn n_unresourced(&self) -> usize {
        self.unresourced.len()
    }

    /// Where all objects are among those declared: what belongs to no resource first, then resource by resource.
    pub(crate) fn places(&self) -> Vec<usize> {
        let owned = self.resources.iter().flat_map(|it| &it.objects);
        self.unresourced.iter().chain(owned).copied().collect()
    }

    /// Whether nothing is deployed.
    pub(crate) fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.unresourced.is_empty()
    }
}

/// Puts resources together.
pub(crate) struct Assembler<'a> {
    kubernetes: &'a Kubernetes,
    finder: ImageFinder<'a>,
    declarations: &'a Declarations,
    result: Resources<'a>,
    by_name: HashMap<String, usize>,
    problems: Vec<Problem>,
}

/// Groups all objects into resources, and applies what `k8s_resource` says about them.
///
/// # Errors
/// All problems that were found, Tilt's first.
pub(crate) fn assemble<'a>(
    declarations: &'a Declarations,
    images: &Images,
) -> Result<Resources<'a>, Vec<Problem>> {
    let mut assembler = Assembler {
        kubernetes: &declarations.kubernetes,
        finder: ImageFinder::new(&declarations.kubernetes, images),
        declarations,
        result: Resources::default(),
        by_name: HashMap::new(),
        problems: Vec::new(),
    };
    let fail = |why: AssemblyError| vec![Problem::new("tiltfile::kubernetes", why.to_string())];
    assembler.add_custom_deploys();
    assembler.group_by_workload().map_err(fail)?;
    assembler.group_pod_templates().map_err(fail)?;
    assembler.apply_options();
    assembler.check_resources();
    if assembler.problems.is_empty() { Ok(assembler.result) } else { Err(assembler.problems) }
}

impl<'a> Assembler<'a> {
    fn object(&self, place: usize) -> &'a Object {
        &self.kubernetes.objects[place]
    }

    fn add_custom_deploys(&mut self) {
        for deploy in &self.kubernetes.custom_deploys {
            let mut resource = Resource::new(deploy.name.clone());
            resource.custom_deploy = Some(deploy);
            resource.required.clone_from(&deploy.required_images);
            for image in deploy.required_images.iter().chain(&deploy.live_update_image) {
                resource.add_image(image.clone());
            }
            self.insert(resource);
        }
    }

    fn insert(&mut self, resource: Resource<'a>) -> usize {
        let index = self.result.resources.len();
        self.by_name.insert(resource.name.clone(), index);
        self.result.resources.push(resource);
        index
    }

    /// Makes an empty resource, unless its name is taken.
    fn make(&mut self, name: &str) -> Result<usize, NameTaken> {
        self.check_name(name)?;
        Ok(self.insert(Resource::new(name.to_owned())))
    }

    fn check_name(&self, name: &str) -> Result<(), NameTaken> {
        if self.by_name.contains_key(name) {
            return Err(NameTaken::by_kubernetes(name));
        }
        self.declarations.check_name_is_free_elsewhere(name)
    }

    /// Each workload with the services that lead to it becomes a resource.
    fn group_by_workload(&mut self) -> Result<(), AssemblyError> {
        let mut workloads = Vec::new();
        for (place, object) in self.kubernetes.objects.iter().enumerate() {
            if self.finder.is_workload(object)? {
                workloads.push(place);
            } else {
                self.result.unresourced.push(place);
            }
        }
        let names = match &self.kubernetes.workload_names {
            Some(names) => names.clone(),
            None => unique_names(&workloads.iter().map(|it| self.object(*it)).collect::<Vec<_>>()),
        };
        let mut services = Services::new(&self.kubernetes.objects, &self.result.unresourced);
        for (place, name) in workloads.into_iter().zip(names) {
            let index = self
                .make(&name)
                .map_err(|why| AssemblyError::Workload { workload: id(self.object(place)), why })?;
            self.add_objects(index, vec![place])?;
            self.add_objects(index, services.take(self.object(place)))?;
        }
        self.result.unresourced.retain(|it| !services.taken.contains(it));
        Ok(())
    }

    fn add_objects(&mut self, index: usize, places: Vec<usize>) -> Result<(), AssemblyError> {
        for place in places {
            let object = self.object(place);
            let images = self.finder.images(object).map_err(|why| {
                let (kind, name) = (object.kind().to_owned(), object.name().to_owned());
                AssemblyError::FindImage { kind, name, why: Box::new(why) }
            })?;
            let resource = &mut self.result.resources[index];
            resource.objects.push(place);
            for image in images {
                resource.add_image(image);
            }
        }
        Ok(())
    }

    /// Objects with a pod template but no image become resources too.
    fn group_pod_templates(&mut self) -> Result<(), AssemblyError> {
        let objects = &self.kubernetes.objects;
        let (templates, rest): (Vec<usize>, Vec<usize>) =
            std::mem::take(&mut self.result.unresourced)
                .into_iter()
                .partition(|it| objects[*it].has_pod_template());
        let mut services = Services::new(objects, &rest);
        for place in templates {
            let name = self.object(place).name().to_owned();
            let index = match self.by_name.get(&name) {
                Some(index) => *index,
                None => self.make(&name)?,
            };
            let resource = &mut self.result.resources[index];
            resource.objects.push(place);
            resource.objects.extend(services.take(&objects[place]));
        }
        self.result.unresourced =
            rest.into_iter().filter(|it| !services.taken.contains(it)).collect();
        Ok(())
    }

    fn apply_options(&mut self) {
        let resourced = self.result.resources.iter().flat_map(|it| &it.objects);
        let places: Vec<usize> = resourced.chain(&self.result.unresourced).copied().collect();
        let fragments = Fragments::new(places.iter().map(|it| self.object(*it)));
        for options in &self.kubernetes.options {
            if let Err(problem) = self.apply(options, &fragments) {
                self.problems.push(problem);
            }
        }
    }

    fn apply(
        &mut self,
        options: &'a ResourceOptions,
        fragments: &Fragments,
    ) -> Result<(), Problem> {
        let problem = |message: String| {
            Problem::new("tiltfile::k8s_resource", message).at(options.position.clone())
        };
        if options.is_group {
            let index = self.make(&options.new_name).map_err(|why| problem(why.to_string()))?;
            self.result.resources[index].is_group = true;
        }
        let Some(&index) = self.by_name.get(&options.workload) else {
            return Err(problem(self.unknown_resource(options)));
        };
        merge(&mut self.result.resources[index], options);
        self.rename(index, options).map_err(|why| problem(why.to_string()))?;
        for fragment in &options.objects {
            if let Err(why) = Fragment::parse(fragment) {
                let fragment = fragment.clone();
                return Err(problem(FragmentError::Syntax { fragment, problem: why }.to_string()));
            }
        }
        for fragment in &options.objects {
            self.take_object(index, fragment, fragments).map_err(|why| problem(why.to_string()))?;
        }
        Ok(())
    }

    fn unknown_resource(&self, options: &ResourceOptions) -> String {
        let known: Vec<&str> = self.result.resources.iter().map(|it| it.name.as_str()).collect();
        format!(
            "{}: k8s_resource specified unknown resource {}. known k8s resources: {}",
            options.position,
            quote(&options.workload),
            known.join(", ")
        )
    }

    fn rename(&mut self, index: usize, options: &ResourceOptions) -> Result<(), AssemblyError> {
        let old = self.result.resources[index].name.clone();
        let new = &options.new_name;
        if new.is_empty() || *new == old {
            return Ok(());
        }
        self.check_name(new).map_err(|why| {
            let (from, to) = (old.clone(), new.clone());
            AssemblyError::Rename { position: options.position.clone(), from, to, why }
        })?;
        self.by_name.remove(&old);
        self.by_name.insert(new.clone(), index);
        self.result.resources[index].name.clone_from(new);
        Ok(())
    }

    /// Moves the object that a fragment names into a resource.
    fn take_object(
        &mut self,
        index: usize,
        fragment: &str,
        fragments: &Fragments,
    ) -> Result<(), FragmentError> {
        fragments.find(fragment)?;
        let parsed = Fragment::parse(fragment)
            .map_err(|problem| FragmentError::Syntax { fragment: fragment.to_owned(), problem })?;
        let found = self.result.unresourced.iter().position(|it| parsed.matches(self.object(*it)));
        let Some(found) = found else {
            let remaining =
                self.result.unresourced.iter().map(|it| full_name(self.object(*it))).collect();
            return Err(FragmentError::Taken { fragment: fragment.to_owned(), remaining });
        };
        let place = self.result.unresourced.remove(found);
        self.result.resources[index].objects.push(place);
        Ok(())
    }

    fn check_resources(&mut self) {
        for resource in &self.result.resources {
            if resource.objects.is_empty() && resource.custom_deploy.is_none() {
                let name = quote(&resource.name);
                let message = format!(
                    "resource {name}: could not associate any k8s_yaml() or k8s_custom_deploy() with this resource"
                );
                self.problems.push(Problem::new("tiltfile::empty_resource", message));
            }
        }
    }
}

/// Services that belong to no workload yet.
struct Services<'a> {
    index: ServiceIndex<'a>,
    places: Vec<usize>,
    taken: HashSet<usize>,
}

impl<'a> Services<'a> {
    fn new(objects: &'a [Object], places: &[usize]) -> Self {
        let index = ServiceIndex::new(places.iter().map(|it| &objects[*it]));
        Self { index, places: places.to_vec(), taken: HashSet::new() }
    }

    /// The services that lead to a workload; they belong to it from now on.
    fn take(&mut self, workload: &Object) -> Vec<usize> {
        let matching = self.index.matching(workload).into_iter().map(|it| self.places[it]);
        let free: Vec<usize> = matching.filter(|it| !self.taken.contains(it)).collect();
        self.taken.extend(&free);
        free
    }
}

/// What a workload is called in messages about its name.
fn id(object: &Object) -> String {
    format!("{}:{}:{}:{}", object.name(), object.kind(), object.namespace(), object.group())
        .to_lowercase()
}

fn merge(resource: &mut Resource<'_>, options: &ResourceOptions) {
    resource.extra_pod_selectors.extend(options.extra_pod_selectors.iter().cloned());
    if options.readiness != PodReadiness::None {
        resource.readiness = options.readiness;
    }
    if !options.discovery_strategy.is_empty() {
        resource.discovery_strategy.clone_from(&options.discovery_strategy);
    }
    resource.port_forwards.extend(options.port_forwards.iter().cloned());
    resource.trigger_mode = options.trigger_mode.or(resource.trigger_mode);
    resource.auto_init = options.auto_init.unwrap_or(resource.auto_init);
    resource.resource_deps.extend(options.resource_deps.iter().cloned());
    resource.links.extend(options.links.iter().cloned());
    resource.labels.extend(options.labels.clone());
}

/// Finds the builds of all images; the place in the list of resources, and their builds.
///
/// # Errors
/// If an image that must have a build has none.
pub(crate) fn consume_images(
    references: Vec<(String, Vec<Reference>, Vec<Reference>)>,
    images: &mut Images,
) -> Result<Vec<Vec<ImageId>>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut builds = Vec::new();
    for (resource, references, required) in references {
        let mut found = Vec::new();
        for reference in references {
            match images.consume(&reference) {
                Some(id) => found.push(id),
                None if required.contains(&reference) => {
                    let (resource, image) = (quote(&resource), quote(&reference.familiar()));
                    let message = format!("resource {resource}: image build {image} not found");
                    problems.push(Problem::new("tiltfile::unknown_image_dep", message));
                }
                None => {}
            }
        }
        builds.push(found);
    }
    if problems.is_empty() { Ok(builds) } else { Err(problems) }
}

impl Resources<'_> {
    /// Each resource with its images and those that must have a build.
    pub(crate) fn image_references(&self) -> Vec<(String, Vec<Reference>, Vec<Reference>)> {
        self.resources
            .iter()
            .map(|it| (it.name.clone(), it.images.clone(), it.required.clone()))
            .collect()
    }
}
